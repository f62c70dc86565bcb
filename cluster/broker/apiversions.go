package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// ApiVersions, versions 0 to 5: exactly what is served, and the features by which clients choose
// how to behave. Features that may be at level 0 are left out for the versions whose readers cannot
// take them (KAFKA-17492).

func (b *Broker) apiVersions(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.ApiVersionsRequest)
	response := kmsg.NewPtrApiVersionsResponse()
	response.Version = r.Version
	if r.Version >= 3 &&
		!(namesSoftware(body.ClientSoftwareName) && namesSoftware(body.ClientSoftwareVersion)) {
		response.ErrorCode = kerr.InvalidRequest.Code
		b.answer(call, response, answered{code: response.ErrorCode})
		return
	}
	if code := b.checkIdentity(body); code != 0 {
		response.ErrorCode = code
		b.answer(call, response, answered{code: code})
		return
	}
	response.ApiKeys = apiKeys()
	for _, f := range supportedFeatures {
		if f.MinSupportedVersion == 0 && r.Version < 4 {
			continue
		}
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MinVersion, s.MaxVersion = f.Name, f.MinSupportedVersion, f.MaxSupportedVersion
		response.SupportedFeatures = append(response.SupportedFeatures, s)
	}
	response.FinalizedFeaturesEpoch = int64(b.metadata.applied) - 1
	for _, f := range b.metadata.image.Features() {
		s := kmsg.NewApiVersionsResponseFinalizedFeature()
		s.Name, s.MaxVersionLevel, s.MinVersionLevel = f.Name, f.Level, f.Level
		response.FinalizedFeatures = append(response.FinalizedFeatures, s)
	}
	b.answer(call, response, answered{})
}

// namesSoftware says whether a client's name or version is one that KIP-511 allows: letters,
// digits, dots and dashes, with a letter or digit at both ends.
func namesSoftware(text string) bool {
	plain := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	for i := range len(text) {
		if c := text[i]; !plain(c) && c != '.' && c != '-' {
			return false
		}
	}
	return text != "" && plain(text[0]) && plain(text[len(text)-1])
}

// checkIdentity turns away a client that means another cluster or node (version 5).
func (b *Broker) checkIdentity(body *kmsg.ApiVersionsRequest) int16 {
	if body.ClusterID == nil && body.NodeID < 0 || body.Version < 5 {
		return 0
	}
	if body.ClusterID == nil || body.NodeID < 0 {
		return kerr.InvalidRequest.Code
	}
	if *body.ClusterID != b.config.ClusterID || body.NodeID != int32(b.env.ID()) {
		return kerr.RebootstrapRequired.Code
	}
	return 0
}

func apiKeys() []kmsg.ApiVersionsResponseApiKey {
	keys := make([]kmsg.ApiVersionsResponseApiKey, 0, len(ranges))
	for _, row := range ranges {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = row.Key, row.Advertised, row.Max
		keys = append(keys, k)
	}
	return keys
}
