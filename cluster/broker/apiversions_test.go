package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
)

func askVersions(p *place, version int16) *kmsg.ApiVersionsResponse {
	p.t.Helper()
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "test", "1.0"
	return ask[*kmsg.ApiVersionsResponse](p, version, request)
}

func TestApiVersionsNamesExactlyWhatIsServed(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	response := askVersions(p, 4)
	served := Served()
	if len(response.ApiKeys) != len(served) {
		t.Fatalf("%d keys are named, %d are served", len(response.ApiKeys), len(served))
	}
	for i, key := range response.ApiKeys {
		want := served[i]
		lowest := want.Min
		if key.ApiKey == 0 {
			lowest = 0 // librdkafka takes Produce 0 as the sign that compression is understood
		}
		if key.ApiKey != want.Key || key.MinVersion != lowest || key.MaxVersion != want.Max {
			t.Errorf("key %d is named with %d to %d, served %+v", key.ApiKey, key.MinVersion,
				key.MaxVersion, want)
		}
	}
}

func TestApiVersionsHidesFeaturesThatMayBeOffFromOldReaders(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	for _, feature := range askVersions(p, 3).SupportedFeatures {
		if feature.MinVersion == 0 {
			t.Errorf("version 3 is told of %s from level 0 on", feature.Name)
		}
	}
	named := map[string]bool{}
	for _, feature := range askVersions(p, 4).SupportedFeatures {
		named[feature.Name] = true
	}
	for _, name := range []string{"metadata.version", "kraft.version", "transaction.version",
		"group.version", "eligible.leader.replicas.version"} {
		if !named[name] {
			t.Errorf("version 4 is not told of %s", name)
		}
	}
}

// Clients take a list of finalized features only if its epoch is newer than what they have.
func TestFinalizedFeaturesComeWithTheOffsetOfTheMetadataThatSaysSo(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	before := askVersions(p, 4)
	if len(before.FinalizedFeatures) != 0 {
		t.Fatalf("finalized before the log says so: %+v", before.FinalizedFeatures)
	}
	p.commit(&metadata.FeatureLevelRecord{Name: "group.version", FeatureLevel: 1},
		&metadata.FeatureLevelRecord{Name: "transaction.version", FeatureLevel: 0})
	after := askVersions(p, 4)
	if len(after.FinalizedFeatures) != 1 || after.FinalizedFeatures[0].Name != "group.version" ||
		after.FinalizedFeatures[0].MaxVersionLevel != 1 {
		t.Errorf("finalized: %+v, want group.version at 1 and nothing that is at 0",
			after.FinalizedFeatures)
	}
	if after.FinalizedFeaturesEpoch != 2 || before.FinalizedFeaturesEpoch != 0 {
		t.Errorf("epochs %d and %d, want the offsets 0 and 2", before.FinalizedFeaturesEpoch,
			after.FinalizedFeaturesEpoch)
	}
}

func TestApiVersionsTurnsAwayWhoMeansAnotherNode(t *testing.T) {
	own, other := testClusterID, "AAAAAAAAAAAAAAAAAAAAAQ"
	for _, c := range []struct {
		name    string
		cluster *string
		node    int32
		want    int16
	}{
		{"nothing", nil, -1, 0},
		{"this node", &own, 1, 0},
		{"another node", &own, 2, kerr.RebootstrapRequired.Code},
		{"another cluster", &other, 1, kerr.RebootstrapRequired.Code},
		{"only the cluster", &own, -1, kerr.InvalidRequest.Code},
		{"only the node", nil, 1, kerr.InvalidRequest.Code},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := startBroker(t, registered(brokerID, false))
			request := kmsg.NewPtrApiVersionsRequest()
			request.ClientSoftwareName, request.ClientSoftwareVersion = "test", "1.0"
			request.ClusterID, request.NodeID = c.cluster, c.node
			if got := ask[*kmsg.ApiVersionsResponse](p, 5, request).ErrorCode; got != c.want {
				t.Errorf("code %d, want %d", got, c.want)
			}
		})
	}
}
