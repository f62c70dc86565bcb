package controller

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
)

func TestChangedMinimumClearsEligibleLeaderReplicas(t *testing.T) {
	c := ready(t, "min.insync.replicas=3")
	p := c.partition("orders", 0)
	c.alter(p, nil, p.Replicas[0], p.Replicas[1])
	if now := c.partition("orders", 0); len(now.Elr) != 1 {
		t.Fatalf("the partition is %+v", now)
	}
	c.setConfig(kmsg.ConfigResourceTypeTopic, "orders", configMinIsr, "2")
	if now := c.partition("orders", 0); len(now.Elr) != 0 {
		t.Errorf("the partition is %+v", now)
	}
}

// Were the leader's minimum lower than the controllers', it would acknowledge what an eligible
// leader replica lacks, and a regular election would lose it.
func TestMinimumIsTheSameForControllersAndBrokers(t *testing.T) {
	c := ready(t)
	broker := kmsg.ConfigResourceTypeBroker
	code := c.setConfig(broker, "1", configMinIsr, "1")
	if code != kerr.InvalidConfig.Code {
		t.Errorf("a broker's own minimum: %d", code)
	}
	if code := c.setConfig(broker, "", configMinIsr, "2"); code != 0 {
		t.Errorf("the cluster's minimum: %d", code)
	}
	value := "1000"
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = []kmsg.AlterConfigsRequestResource{{ResourceType: broker,
		Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "log.retention.ms", Value: &value}}}}
	r := c.ask(req).(*kmsg.AlterConfigsResponse).Resources[0]
	if r.ErrorCode != kerr.InvalidConfig.Code {
		t.Errorf("the cluster's minimum is left out of what is to stay: %d", r.ErrorCode)
	}
	want := []metadata.ConfigEntry{{Name: configMinIsr, Value: "2"}}
	image := c.leader().active.committed
	if got := image.Config(metadata.ResourceBroker, ""); !slices.Equal(got, want) {
		t.Errorf("the cluster has %+v", got)
	}
	if got := image.Config(metadata.ResourceBroker, "1"); len(got) > 0 {
		t.Errorf("broker 1 has %+v", got)
	}
}

func TestConfigChangesAreChecked(t *testing.T) {
	c := ready(t)
	topic, broker := kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	for _, tt := range []struct {
		kind             kmsg.ConfigResourceType
		name, key, value string
		code             int16
	}{
		{topic, "orders", "retention.ms", "abc", kerr.InvalidConfig.Code},
		{topic, "orders", "no.such", "1", kerr.InvalidConfig.Code},
		{topic, "nosuch", "retention.ms", "1", kerr.UnknownTopicOrPartition.Code},
		{topic, "orders", "retention.ms", "1000", 0},
		{broker, "", "log.retention.ms", "1000", 0},
		{broker, "x", "log.retention.ms", "1000", kerr.InvalidRequest.Code},
	} {
		if code := c.setConfig(tt.kind, tt.name, tt.key, tt.value); code != tt.code {
			t.Errorf("%s %s=%s: %d, not %d", tt.name, tt.key, tt.value, code, tt.code)
		}
	}
	image := c.leader().active.committed
	v, source := Properties(nil).configOf(image, "orders", "retention.ms")
	if v != "1000" || source != sourceTopic {
		t.Errorf("retention.ms is %s from %d", v, source)
	}
}

func TestListValuesAreAppendedAndSubtracted(t *testing.T) {
	c := ready(t)
	change := func(op kmsg.IncrementalAlterConfigOp, key, value string) int16 {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders",
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
				{Name: key, Op: op, Value: &value}}}}
		return c.ask(req).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode
	}
	value := func() string {
		v, _ := Properties(nil).configOf(c.leader().active.committed, "orders", "cleanup.policy")
		return v
	}
	for _, tt := range []struct {
		op   kmsg.IncrementalAlterConfigOp
		word string
		want string
	}{
		{kmsg.IncrementalAlterConfigOpAppend, "compact", "delete,compact"},
		{kmsg.IncrementalAlterConfigOpAppend, "compact", "delete,compact"},
		{kmsg.IncrementalAlterConfigOpSubtract, "delete", "compact"},
	} {
		if code := change(tt.op, "cleanup.policy", tt.word); code != 0 || value() != tt.want {
			t.Errorf("%d %s: code %d, %s, not %s", tt.op, tt.word, code, value(), tt.want)
		}
	}
	if code := change(kmsg.IncrementalAlterConfigOpAppend, "retention.ms", "1"); code !=
		kerr.InvalidConfig.Code {
		t.Errorf("append to a number: code %d", code)
	}
}

func TestAlterConfigsResetsWhatItDoesNotName(t *testing.T) {
	c := ready(t, "retention.ms=1000", "min.insync.replicas=2")
	req := kmsg.NewPtrAlterConfigsRequest()
	value := "3000"
	req.Resources = []kmsg.AlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders",
		Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "segment.ms", Value: &value}}}}
	r := c.ask(req).(*kmsg.AlterConfigsResponse).Resources[0]
	got := c.leader().active.committed.Config(metadata.ResourceTopic, "orders")
	want := []metadata.ConfigEntry{{Name: "segment.ms", Value: "3000"}}
	if r.ErrorCode != 0 || !slices.Equal(got, want) {
		t.Errorf("code %d, %+v", r.ErrorCode, got)
	}
}
