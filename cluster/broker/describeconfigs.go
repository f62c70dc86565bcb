package broker

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// DescribeConfigs, versions 1 to 4, for topics, brokers and broker loggers (of which there are
// none): every key that Kafka describes, where its value comes from, and what it would fall back
// to.

func (b *Broker) describeConfigs(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.DescribeConfigsRequest)
	response := kmsg.NewPtrDescribeConfigsResponse()
	response.Version = r.Version
	for i := range body.Resources {
		response.Resources = append(response.Resources, b.describeResource(body, &body.Resources[i]))
	}
	b.answer(call, response, answered{})
}

func (b *Broker) describeResource(body *kmsg.DescribeConfigsRequest,
	asked *kmsg.DescribeConfigsRequestResource) (out kmsg.DescribeConfigsResponseResource) {
	out = kmsg.NewDescribeConfigsResponseResource()
	out.ResourceType, out.ResourceName = asked.ResourceType, asked.ResourceName
	empty := ""
	out.ErrorMessage = &empty
	refuse := func(code int16, message string) kmsg.DescribeConfigsResponseResource {
		out.ErrorCode, out.ErrorMessage = code, &message
		return out
	}
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if err := metadata.ValidateTopicName(asked.ResourceName); err != nil {
			return refuse(kerr.InvalidTopicException.Code, err.Error())
		}
		if b.metadata.image.TopicByName(asked.ResourceName) == nil {
			return refuse(kerr.UnknownTopicOrPartition.Code, "")
		}
		out.Configs = b.topicConfigs(body, asked)
	case kmsg.ConfigResourceTypeBroker:
		id, err := strconv.ParseInt(asked.ResourceName, 10, 32)
		switch {
		case asked.ResourceName == "":
			out.Configs = b.clusterConfigs(body, asked)
		case err != nil:
			return refuse(kerr.InvalidRequest.Code,
				"Broker id must be an integer, but it is: "+asked.ResourceName)
		case int32(id) != int32(b.env.ID()):
			return refuse(kerr.InvalidRequest.Code, "Unexpected broker id, expected "+
				strconv.Itoa(int(b.env.ID()))+" or empty string, but received "+asked.ResourceName)
		default:
			out.Configs = b.brokerConfigs(body, asked)
		}
	case kmsg.ConfigResourceTypeBrokerLogger:
	default:
		return refuse(kerr.InvalidRequest.Code, "Unsupported resource type: "+
			strconv.Itoa(int(asked.ResourceType)))
	}
	return out
}

// wantsKey says whether a key was asked for: nil asks for all.
func wantsKey(asked *kmsg.DescribeConfigsRequestResource, key string) bool {
	return asked.ConfigNames == nil || slices.Contains(asked.ConfigNames, key)
}

// valued is one place where a key has a value.
type valued struct {
	name   string
	value  string
	null   bool
	source kmsg.ConfigSource
	factor string // by which the value becomes that of the topic's key, "" for 1
	hidden bool   // counts, but is no synonym
}

// brokerValues lists where a broker key has a value, the strongest first.
func (b *Broker) brokerValues(d *metadata.ConfigDef) []valued {
	var list []valued
	id := strconv.Itoa(int(b.env.ID()))
	if v, ok := b.metadata.image.ConfigValue(metadata.ResourceBroker, id, d.Name); ok {
		list = append(list, valued{name: d.Name, value: v, source: kmsg.ConfigSourceDynamicBrokerConfig})
	}
	if v, ok := b.metadata.image.ConfigValue(metadata.ResourceBroker, "", d.Name); ok {
		list = append(list, valued{name: d.Name, value: v,
			source: kmsg.ConfigSourceDynamicDefaultBrokerConfig})
	}
	if v, ok := b.staticConfig(d.Name); ok {
		list = append(list, valued{name: d.Name, value: v, source: kmsg.ConfigSourceStaticBrokerConfig})
	}
	return append(list, valued{name: d.Name, value: d.Default, null: d.Has(metadata.Null),
		source: kmsg.ConfigSourceDefaultConfig})
}

// staticConfig is what this broker's properties file would say.
func (b *Broker) staticConfig(key string) (string, bool) {
	if v, ok := b.config.Static[key]; ok {
		return v, true
	}
	address := ListenerName + "://" + b.config.Host + ":" + strconv.Itoa(int(b.config.Port))
	switch key {
	case "node.id", "broker.id":
		return strconv.Itoa(int(b.env.ID())), true
	case "process.roles":
		return "broker", true
	case "listeners", "advertised.listeners":
		return address, true
	case "log.dirs", "log.dir":
		return b.disk.Path(), true
	case "controller.listener.names":
		return "CONTROLLER", true
	}
	return "", false
}

func (b *Broker) topicConfigs(body *kmsg.DescribeConfigsRequest,
	asked *kmsg.DescribeConfigsRequestResource) (rows []kmsg.DescribeConfigsResponseResourceConfig) {
	for _, d := range metadata.TopicConfigs() {
		if d.Has(metadata.Internal) || !wantsKey(asked, d.Name) {
			continue
		}
		var list []valued
		v, ok := b.metadata.image.ConfigValue(metadata.ResourceTopic, asked.ResourceName, d.Name)
		if ok {
			list = append(list, valued{name: d.Name, value: v, source: kmsg.ConfigSourceDynamicTopicConfig})
		}
		list = append(list, b.fallbacks(&d)...)
		rows = append(rows, describeConfig(body, &d, list, false))
	}
	return rows
}

// fallbacks are the values that a topic's key falls back to. The default is told under the first
// broker key; where that has none, the topic's own counts and is not told as a synonym.
func (b *Broker) fallbacks(d *metadata.ConfigDef) []valued {
	var list []valued
	for i, synonym := range d.Synonyms {
		name, factor, scaled := strings.Cut(synonym, "*")
		broker, ok := metadata.BrokerConfig(name)
		if !ok {
			continue
		}
		for _, v := range b.brokerValues(&broker) {
			if v.null || v.source == kmsg.ConfigSourceDefaultConfig && i > 0 {
				continue
			}
			if scaled {
				v.factor = factor
			}
			list = append(list, v)
		}
	}
	if n := len(list); n == 0 || list[n-1].source != kmsg.ConfigSourceDefaultConfig {
		list = append(list, valued{name: d.Name, value: d.Default, null: d.Has(metadata.Null),
			source: kmsg.ConfigSourceDefaultConfig, hidden: true})
	}
	return list
}

func (b *Broker) brokerConfigs(body *kmsg.DescribeConfigsRequest,
	asked *kmsg.DescribeConfigsRequestResource) (rows []kmsg.DescribeConfigsResponseResourceConfig) {
	for _, d := range metadata.BrokerConfigs() {
		if d.Has(metadata.Internal) || !wantsKey(asked, d.Name) {
			continue
		}
		rows = append(rows, describeConfig(body, &d, b.brokerValues(&d), !d.Has(metadata.Dynamic)))
	}
	return rows
}

// clusterConfigs are the settings of all brokers, only those that were set.
func (b *Broker) clusterConfigs(body *kmsg.DescribeConfigsRequest,
	asked *kmsg.DescribeConfigsRequestResource) (rows []kmsg.DescribeConfigsResponseResourceConfig) {
	for _, entry := range b.metadata.image.Config(metadata.ResourceBroker, "") {
		d, ok := metadata.BrokerConfig(entry.Name)
		if !ok || !wantsKey(asked, entry.Name) {
			continue
		}
		rows = append(rows, describeConfig(body, &d, []valued{{name: entry.Name,
			value: entry.Value, source: kmsg.ConfigSourceDynamicDefaultBrokerConfig}}, false))
	}
	return rows
}

func describeConfig(body *kmsg.DescribeConfigsRequest, d *metadata.ConfigDef, list []valued,
	readOnly bool) kmsg.DescribeConfigsResponseResourceConfig {
	row := kmsg.NewDescribeConfigsResponseResourceConfig()
	row.Name, row.ReadOnly, row.IsSensitive = d.Name, readOnly, d.Sensitive()
	row.Value, row.Source = list[0].shown(d), list[0].source
	if list[0].factor != "" && row.Value != nil {
		scaled := metadata.ScaleConfig(*row.Value, list[0].factor)
		row.Value = &scaled
	}
	row.IsDefault = row.Source == kmsg.ConfigSourceDefaultConfig
	row.ConfigType = kmsg.ConfigType(d.Type)
	if body.IncludeDocumentation && d.Doc != "" {
		row.Documentation = &d.Doc
	}
	if !body.IncludeSynonyms {
		return row
	}
	for _, v := range list {
		s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		s.Name, s.Value, s.Source = v.name, v.shown(d), v.source
		if !v.null && !v.hidden {
			row.ConfigSynonyms = append(row.ConfigSynonyms, s)
		}
	}
	return row
}

func (v *valued) shown(d *metadata.ConfigDef) *string {
	if v.null || d.Sensitive() {
		return nil
	}
	return &v.value
}
