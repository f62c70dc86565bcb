package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var apiVersionsProbes = []kit.Probe{
	{
		Name:   "api-versions/ranges",
		Intent: "every advertised key with its range of versions",
		Run: func(p *kit.P) {
			response := kit.Ask[*kmsg.ApiVersionsResponse](p, p.Dial(0), 0, kit.ApiVersions("", ""))
			for _, key := range response.ApiKeys {
				step := fmt.Sprintf("%d %s", key.ApiKey, kmsg.NameForKey(key.ApiKey))
				p.Note(step, fmt.Sprintf("%d-%d", key.MinVersion, key.MaxVersion))
			}
		},
	},
	{
		Name:   "api-versions/v0-shape",
		Intent: "v0: error and keys, nothing else",
		Run: func(p *kit.P) {
			noteApiVersions(p, 0)
		},
	},
	{
		Name:   "api-versions/v1-shape",
		Intent: "v1 and v2 add the throttle time and keep the plain header",
		Run: func(p *kit.P) {
			noteApiVersions(p, 1)
			noteApiVersions(p, 2)
		},
	},
	{
		Name:   "api-versions/v3-features",
		Intent: "v3 is flexible and hides supported features whose minimum is 0 (KAFKA-17492)",
		Run: func(p *kit.P) {
			noteApiVersions(p, 3)
		},
	},
	{
		Name:   "api-versions/v5-features",
		Intent: "v5 without cluster id and node id answers as v4 does",
		Run: func(p *kit.P) {
			noteApiVersions(p, 5)
		},
	},
	{
		Name:   "api-versions/v5-right-identity",
		Intent: "v5 with the right cluster and node id is accepted",
		Run: func(p *kit.P) {
			request := kit.ApiVersions("probe", "1.0")
			request.ClusterID, request.NodeID = new(p.ClusterID()), p.BrokerID(0)
			response := kit.Ask[*kmsg.ApiVersionsResponse](p, p.Dial(0), 5, request)
			p.NoteError("error", response.ErrorCode)
			p.Note("keys listed", len(response.ApiKeys) > 0)
		},
	},
	{
		Name:   "api-versions/v5-wrong-node",
		Intent: "v5 with the right cluster and another node's id asks the client to bootstrap again",
		Run: func(p *kit.P) {
			request := kit.ApiVersions("probe", "1.0")
			request.ClusterID, request.NodeID = new(p.ClusterID()), p.BrokerID(0)+100
			response := kit.Ask[*kmsg.ApiVersionsResponse](p, p.Dial(0), 5, request)
			p.NoteError("error", response.ErrorCode)
		},
	},
	{
		Name:   "api-versions/v5-only-cluster",
		Intent: "v5 with a wrong cluster id but no node id",
		Run: func(p *kit.P) {
			request := kit.ApiVersions("probe", "1.0")
			request.ClusterID = new("another-cluster")
			response := kit.Ask[*kmsg.ApiVersionsResponse](p, p.Dial(0), 5, request)
			p.NoteError("error", response.ErrorCode)
		},
	},
	{
		Name:   "api-versions/too-high",
		Intent: "a version that is too high is answered with a v0 body, error 35 and key 18 (KIP-511)",
		Run: func(p *kit.P) {
			c := p.Dial(0)
			p.ShowAs("v6", c, 6, 0, kit.ApiVersions("probe", "1.0"))
			p.ShowAs("v99 on the same connection", c, 99, 0, kit.ApiVersions("probe", "1.0"))
			response := kit.Ask[*kmsg.ApiVersionsResponse](p, c, 3, kit.ApiVersions("probe", "1.0"))
			p.NoteError("v3 afterwards", response.ErrorCode)
		},
	},
	{
		Name:   "api-versions/negative-version",
		Intent: "a negative version of ApiVersions",
		Run: func(p *kit.P) {
			c := p.Dial(0)
			_, _ = c.Write(kit.Frame(18, -1, false, nil))
			p.ShowSilence("v-1", c)
		},
	},
	{
		Name:   "api-versions/client-name",
		Intent: "software name and version must be words of letters, digits, dots and dashes",
		Run: func(p *kit.P) {
			for _, name := range []string{"probe", "", " ", "my probe", "-probe", "probe-", "a.b-c", "prøbe", "a_b"} {
				response := kit.Ask[*kmsg.ApiVersionsResponse](
					p,
					p.Dial(0),
					3,
					kit.ApiVersions(name, "1.0"),
				)
				p.NoteError(fmt.Sprintf("name %q", name), response.ErrorCode)
			}
		},
	},
	{
		Name:   "api-versions/any-time",
		Intent: "ApiVersions may come twice and after other requests",
		Run: func(p *kit.P) {
			c := p.Dial(0)
			for range 2 {
				kit.Ask[*kmsg.MetadataResponse](p, c, 9, kit.Metadata())
				response := kit.Ask[*kmsg.ApiVersionsResponse](
					p,
					c,
					3,
					kit.ApiVersions("probe", "1.0"),
				)
				p.NoteError("error", response.ErrorCode)
			}
		},
	},
	{
		Name:   "api-versions/same-on-every-broker",
		Intent: "all brokers advertise the same ranges and features",
		Run: func(p *kit.P) {
			for i := range p.BrokerCount() {
				response := kit.Ask[*kmsg.ApiVersionsResponse](
					p,
					p.Dial(i),
					4,
					kit.ApiVersions("probe", "1.0"),
				)
				p.Note("keys", len(response.ApiKeys))
				p.Note("features", len(response.FinalizedFeatures))
			}
		},
	},
	{
		Name:   "api-versions/controller-keys",
		Intent: "keys of the controller listener close the connection on a broker listener",
		Run: func(p *kit.P) {
			for _, key := range []int16{52, 53, 54, 56, 58, 59, 62, 63, 67, 70, 73, 82} {
				c := p.Dial(0)
				_, _ = c.Write(kit.Frame(key, 0, true, make([]byte, 32)))
				p.ShowSilence(fmt.Sprintf("key %d %s", key, kmsg.NameForKey(key)), c)
			}
		},
	},
	{
		Name:   "api-versions/telemetry-keys",
		Intent: "the telemetry keys are hidden without a plugin; asked all the same",
		Run: func(p *kit.P) {
			request := kmsg.NewPtrGetTelemetrySubscriptionsRequest()
			response := kit.Ask[*kmsg.GetTelemetrySubscriptionsResponse](p, p.Dial(0), 0, request)
			p.NoteError("GetTelemetrySubscriptions", response.ErrorCode)
			p.Note("metrics asked for", len(response.RequestedMetrics))
		},
	},
}

// noteApiVersions records what one version of the response carries.
func noteApiVersions(p *kit.P, version int16) {
	response := kit.Ask[*kmsg.ApiVersionsResponse](
		p,
		p.Dial(0),
		version,
		kit.ApiVersions("probe", "1.0"),
	)
	p.NoteError("error", response.ErrorCode)
	p.Note("keys", len(response.ApiKeys))
	for _, key := range response.ApiKeys {
		if key.ApiKey == 0 {
			p.Note("Produce", fmt.Sprintf("%d-%d", key.MinVersion, key.MaxVersion))
		}
	}
	supported, finalized := map[string]string{}, map[string]string{}
	for _, feature := range response.SupportedFeatures {
		supported[feature.Name] = fmt.Sprintf("%d-%d", feature.MinVersion, feature.MaxVersion)
	}
	for _, feature := range response.FinalizedFeatures {
		finalized[feature.Name] = fmt.Sprintf(
			"%d-%d",
			feature.MinVersionLevel,
			feature.MaxVersionLevel,
		)
	}
	p.Note("supported", supported)
	p.Note("finalized", finalized)
	p.Note("epoch is known", response.FinalizedFeaturesEpoch >= 0)
}
