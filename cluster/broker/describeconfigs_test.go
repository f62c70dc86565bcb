package broker

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
)

func set(kind int8, resource, key, value string) metadata.Record {
	return &metadata.ConfigRecord{ResourceType: kind, ResourceName: resource, Name: key,
		Value: &value}
}

func (p *place) configs(kind kmsg.ConfigResourceType, name string, keys ...string) (
	answer kmsg.DescribeConfigsResponseResource) {
	p.t.Helper()
	request := kmsg.NewPtrDescribeConfigsRequest()
	request.IncludeSynonyms, request.IncludeDocumentation = true, true
	request.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind,
		ResourceName: name, ConfigNames: keys}}
	return ask[*kmsg.DescribeConfigsResponse](p, 4, request).Resources[0]
}

func TestTopicConfigComesFromTheStrongestPlaceThatHasIt(t *testing.T) {
	p := startBrokerWith(t, Config{Static: map[string]string{"min.insync.replicas": "2"}},
		registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	check := func(value string, source kmsg.ConfigSource, synonyms ...kmsg.ConfigSource) {
		t.Helper()
		rows := p.configs(kmsg.ConfigResourceTypeTopic, "orders", "min.insync.replicas").Configs
		if len(rows) != 1 {
			t.Fatalf("%d rows for one key", len(rows))
		}
		var got []kmsg.ConfigSource
		for _, s := range rows[0].ConfigSynonyms {
			got = append(got, s.Source)
		}
		if rows[0].Value == nil || *rows[0].Value != value || rows[0].Source != source {
			t.Errorf("value %v from %v, want %s from %v", rows[0].Value, rows[0].Source, value, source)
		}
		if !slices.Equal(got, synonyms) {
			t.Errorf("synonyms from %v, want %v", got, synonyms)
		}
	}
	const (
		ofTopic  = kmsg.ConfigSourceDynamicTopicConfig
		ofBroker = kmsg.ConfigSourceDynamicBrokerConfig
		ofAll    = kmsg.ConfigSourceDynamicDefaultBrokerConfig
		static   = kmsg.ConfigSourceStaticBrokerConfig
		none     = kmsg.ConfigSourceDefaultConfig
	)
	check("2", static, static, none)
	p.commit(set(metadata.ResourceBroker, "", "min.insync.replicas", "3"))
	check("3", ofAll, ofAll, static, none)
	p.commit(set(metadata.ResourceBroker, "1", "min.insync.replicas", "4"))
	check("4", ofBroker, ofBroker, ofAll, static, none)
	p.commit(set(metadata.ResourceTopic, "orders", "min.insync.replicas", "5"))
	check("5", ofTopic, ofTopic, ofBroker, ofAll, static, none)
	p.commit(&metadata.ConfigRecord{ResourceType: metadata.ResourceTopic, ResourceName: "orders",
		Name: "min.insync.replicas"})
	check("4", ofBroker, ofBroker, ofAll, static, none)
}

func TestDescribeConfigsNamesEveryKeyOrOnlyThoseAskedFor(t *testing.T) {
	p := startBroker(t, registered(brokerID, false), topic(1, "orders"), led(1, 0, brokerID))
	known := 0
	for _, d := range metadata.TopicConfigs() {
		if !d.Has(metadata.Internal) {
			known++
		}
	}
	all := p.configs(kmsg.ConfigResourceTypeTopic, "orders").Configs
	if len(all) != known {
		t.Errorf("%d keys, %d are known", len(all), known)
	}
	for _, row := range all {
		if row.ConfigType == 0 || row.Documentation == nil || row.ReadOnly {
			t.Errorf("%s: type %v, documentation %v, read-only %v", row.Name, row.ConfigType,
				row.Documentation != nil, row.ReadOnly)
		}
	}
	some := p.configs(kmsg.ConfigResourceTypeTopic, "orders", "retention.ms", "no.such.key").Configs
	if len(some) != 1 || some[0].Name != "retention.ms" || *some[0].Value != "604800000" ||
		!some[0].IsDefault {
		t.Errorf("two keys, one unknown: %+v", some)
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	p := startBroker(t, registered(brokerID, false),
		set(metadata.ResourceBroker, "1", "sasl.jaas.config", "the secret"))
	row := p.configs(kmsg.ConfigResourceTypeBroker, "1", "sasl.jaas.config").Configs[0]
	if !row.IsSensitive || row.Value != nil {
		t.Errorf("sensitive %v, value %v", row.IsSensitive, row.Value)
	}
	for _, synonym := range row.ConfigSynonyms {
		if synonym.Value != nil {
			t.Errorf("a synonym shows %q", *synonym.Value)
		}
	}
}

func TestDescribeConfigsRefusesWhatItCannotKnow(t *testing.T) {
	p := startBroker(t, registered(brokerID, false))
	for _, c := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want int16
	}{
		{kmsg.ConfigResourceTypeTopic, "nothing", kerr.UnknownTopicOrPartition.Code},
		{kmsg.ConfigResourceTypeTopic, "no name", kerr.InvalidTopicException.Code},
		{kmsg.ConfigResourceTypeBroker, "1", 0},
		{kmsg.ConfigResourceTypeBroker, "", 0},
		{kmsg.ConfigResourceTypeBroker, "2", kerr.InvalidRequest.Code},
		{kmsg.ConfigResourceTypeBroker, "one", kerr.InvalidRequest.Code},
		{kmsg.ConfigResourceType(77), "x", kerr.InvalidRequest.Code},
	} {
		if got := p.configs(c.kind, c.name).ErrorCode; got != c.want {
			t.Errorf("type %d, name %q: code %d, want %d", c.kind, c.name, got, c.want)
		}
	}
}

func TestBrokerConfigsThatNeedARestartAreReadOnly(t *testing.T) {
	p := startBrokerWith(t, Config{Static: map[string]string{"num.partitions": "6"}},
		registered(brokerID, false))
	rows := p.configs(kmsg.ConfigResourceTypeBroker, "1", "num.partitions", "min.insync.replicas",
		"node.id").Configs
	readOnly := map[string]bool{}
	values := map[string]string{}
	for _, row := range rows {
		readOnly[row.Name], values[row.Name] = row.ReadOnly, *row.Value
	}
	if !readOnly["num.partitions"] || !readOnly["node.id"] || readOnly["min.insync.replicas"] {
		t.Errorf("read-only: %v", readOnly)
	}
	if values["num.partitions"] != "6" || values["node.id"] != "1" {
		t.Errorf("values: %v", values)
	}
}
