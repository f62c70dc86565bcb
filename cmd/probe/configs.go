package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var configsProbes = []kit.Probe{
	{
		Name:   "configs/topic-defaults",
		Intent: "every config of a topic with its default, source and type",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.DescribeConfigs(kit.KindTopic, topic.Name)
			response := kit.Ask[*kmsg.DescribeConfigsResponse](p, p.Broker(0), 4, request)
			for _, config := range byName(response.Resources[0].Configs) {
				value := "null"
				if config.Value != nil {
					value = fmt.Sprintf("%q", *config.Value)
				}
				p.Note(config.Name, fmt.Sprintf("%s source=%d type=%d readonly=%v sensitive=%v",
					value, config.Source, config.ConfigType, config.ReadOnly, config.IsSensitive))
			}
		},
	},
	{
		Name:   "configs/topic-synonyms",
		Intent: "synonyms name the broker settings behind a topic config",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1, "retention.ms=1000")
			request := kit.DescribeConfigs(
				kit.KindTopic,
				topic.Name,
				"retention.ms",
				"segment.bytes",
				"cleanup.policy",
			)
			request.IncludeSynonyms = true
			p.Show("v4", p.Broker(0), 4, request)
		},
	},
	{
		Name:   "configs/describe-errors",
		Intent: "unknown topic, bad name, unknown resource kind, unknown key",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show(
				"unknown topic",
				p.Broker(0),
				4,
				kit.DescribeConfigs(kit.KindTopic, p.Name("unknown")),
			)
			p.Show("bad name", p.Broker(0), 4, kit.DescribeConfigs(kit.KindTopic, "not a name"))
			p.Show("empty name", p.Broker(0), 4, kit.DescribeConfigs(kit.KindTopic, ""))
			p.Show(
				"unknown key",
				p.Broker(0),
				4,
				kit.DescribeConfigs(kit.KindTopic, topic.Name, "bogus"),
			)
			p.Show("other broker", p.Broker(0), 4,
				kit.DescribeConfigs(kit.KindBroker, "9999", "broker.id"))
			p.Show(
				"broker not a number",
				p.Broker(0),
				4,
				kit.DescribeConfigs(kit.KindBroker, "x", "broker.id"),
			)
			p.Show("kind 77", p.Broker(0), 4, kit.DescribeConfigs(77, "x"))
		},
	},
	{
		Name:   "configs/broker-keys",
		Intent: "a few settings of a broker that tools read",
		Run: func(p *kit.P) {
			id := fmt.Sprint(p.BrokerID(0))
			request := kit.DescribeConfigs(
				kit.KindBroker,
				id,
				"min.insync.replicas",
				"num.partitions",
				"default.replication.factor",
				"auto.create.topics.enable",
				"message.max.bytes",
				"log.retention.hours",
				"log.retention.ms",
				"log.segment.bytes",
				"compression.type",
				"offsets.retention.minutes",
				"transaction.max.timeout.ms",
				"group.max.session.timeout.ms",
				"group.min.session.timeout.ms",
				"unclean.leader.election.enable",
			)
			response := kit.Ask[*kmsg.DescribeConfigsResponse](p, p.Broker(0), 4, request)
			p.NoteError("error", response.Resources[0].ErrorCode)
			for _, config := range byName(response.Resources[0].Configs) {
				value := "null"
				if config.Value != nil {
					value = *config.Value
				}
				p.Note(config.Name, fmt.Sprintf("%s source=%d type=%d readonly=%v",
					value, config.Source, config.ConfigType, config.ReadOnly))
			}
		},
	},
	{
		Name:   "configs/broker-default",
		Intent: "the broker resource with an empty name holds only dynamic cluster-wide settings",
		Run: func(p *kit.P) {
			request := kit.DescribeConfigs(kit.KindBroker, "", "log.retention.ms", "num.io.threads")
			response := kit.Ask[*kmsg.DescribeConfigsResponse](p, p.Broker(0), 4, request)
			p.NoteError("error", response.Resources[0].ErrorCode)
			p.Note("configs", len(response.Resources[0].Configs))
		},
	},
	{
		Name:   "configs/alter-set-and-delete",
		Intent: "set, read back, delete, read back",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show(
				"set",
				p.Broker(0),
				1,
				kit.AlterConfig(kit.KindTopic, topic.Name, opSet, "retention.ms", new("777")),
			)
			awaitConfig(p, topic.Name, "retention.ms", "777")
			p.Show(
				"read",
				p.Broker(0),
				4,
				kit.DescribeConfigs(kit.KindTopic, topic.Name, "retention.ms"),
			)
			p.Show(
				"delete",
				p.Broker(0),
				1,
				kit.AlterConfig(kit.KindTopic, topic.Name, opDelete, "retention.ms", nil),
			)
			awaitConfig(p, topic.Name, "retention.ms", "604800000")
			p.Show(
				"read again",
				p.Broker(0),
				4,
				kit.DescribeConfigs(kit.KindTopic, topic.Name, "retention.ms"),
			)
		},
	},
	{
		Name:   "configs/alter-lists",
		Intent: "append and subtract work on lists only",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show(
				"append",
				p.Broker(0),
				1,
				kit.AlterConfig(
					kit.KindTopic,
					topic.Name,
					opAppend,
					"cleanup.policy",
					new("compact"),
				),
			)
			awaitConfig(p, topic.Name, "cleanup.policy", "delete,compact")
			p.Show(
				"append again",
				p.Broker(0),
				1,
				kit.AlterConfig(
					kit.KindTopic,
					topic.Name,
					opAppend,
					"cleanup.policy",
					new("compact"),
				),
			)
			p.Show(
				"subtract",
				p.Broker(0),
				1,
				kit.AlterConfig(
					kit.KindTopic,
					topic.Name,
					opSubtract,
					"cleanup.policy",
					new("delete"),
				),
			)
			awaitConfig(p, topic.Name, "cleanup.policy", "compact")
			p.Show(
				"append to a number",
				p.Broker(0),
				1,
				kit.AlterConfig(kit.KindTopic, topic.Name, opAppend, "retention.ms", new("1")),
			)
		},
	},
	{
		Name:   "configs/alter-errors",
		Intent: "unknown topic, key, operation; bad value; null value; duplicate key",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			alter := func(step string, request *kmsg.IncrementalAlterConfigsRequest) {
				p.Show(step, p.Broker(0), 1, request)
			}
			alter(
				"unknown topic",
				kit.AlterConfig(kit.KindTopic, p.Name("unknown"), opSet, "retention.ms", new("1")),
			)
			alter(
				"unknown key",
				kit.AlterConfig(kit.KindTopic, topic.Name, opSet, "bogus", new("1")),
			)
			alter(
				"bad value",
				kit.AlterConfig(kit.KindTopic, topic.Name, opSet, "retention.ms", new("soon")),
			)
			alter(
				"null value",
				kit.AlterConfig(kit.KindTopic, topic.Name, opSet, "retention.ms", nil),
			)
			alter(
				"unknown operation",
				kit.AlterConfig(kit.KindTopic, topic.Name, 9, "retention.ms", new("1")),
			)
			alter(
				"delete what is not set",
				kit.AlterConfig(kit.KindTopic, topic.Name, opDelete, "retention.ms", nil),
			)
			alter("unknown kind", kit.AlterConfig(77, topic.Name, opSet, "retention.ms", new("1")))
			twice := kit.AlterConfig(kit.KindTopic, topic.Name, opSet, "retention.ms", new("1"))
			twice.Resources[0].Configs = append(
				twice.Resources[0].Configs,
				twice.Resources[0].Configs[0],
			)
			alter("key twice", twice)
			resources := kit.AlterConfig(kit.KindTopic, topic.Name, opSet, "retention.ms", new("1"))
			resources.Resources = append(resources.Resources, resources.Resources[0])
			alter("resource twice", resources)
		},
	},
	{
		Name:   "configs/alter-old-api",
		Intent: "AlterConfigs replaces all overrides by the ones given",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1, "retention.ms=1000")
			request := kmsg.NewPtrAlterConfigsRequest()
			request.Resources = []kmsg.AlterConfigsRequestResource{{
				ResourceType: kit.KindTopic, ResourceName: topic.Name,
				Configs: []kmsg.AlterConfigsRequestResourceConfig{
					{Name: "segment.ms", Value: new("60000")},
				},
			}}
			p.Show("alter", p.Broker(0), 2, request)
			awaitConfig(p, topic.Name, "segment.ms", "60000")
			p.Show("read", p.Broker(0), 4,
				kit.DescribeConfigs(kit.KindTopic, topic.Name, "retention.ms", "segment.ms"))
		},
	},
	{
		Name:   "configs/alter-broker-errors",
		Intent: "settings of a broker that cannot be changed while it runs",
		Run: func(p *kit.P) {
			id := fmt.Sprint(p.BrokerID(0))
			p.Show(
				"read-only",
				p.Broker(0),
				1,
				kit.AlterConfig(kit.KindBroker, id, opSet, "log.dirs", new("elsewhere")),
			)
			p.Show(
				"bad value",
				p.Broker(0),
				1,
				kit.AlterConfig(kit.KindBroker, id, opSet, "log.cleaner.threads", new("-1")),
			)
			p.Show("unknown broker", p.Broker(0), 1,
				kit.AlterConfig(kit.KindBroker, "9999", opSet, "log.cleaner.threads", new("1")))
			p.Show("not a number", p.Broker(0), 1,
				kit.AlterConfig(kit.KindBroker, "x", opSet, "log.cleaner.threads", new("1")))
		},
	},
	{
		Name:   "configs/alter-min-isr",
		Intent: "eligible leader replicas need one min.insync.replicas for all",
		Run: func(p *kit.P) {
			const key = "min.insync.replicas"
			id := fmt.Sprint(p.BrokerID(0))
			alter := func(step, broker string, op kmsg.IncrementalAlterConfigOp, value *string) {
				p.Show(step, p.Broker(0), 1, kit.AlterConfig(kit.KindBroker, broker, op, key, value))
			}
			alter("set for one broker", id, opSet, new("2"))
			alter("delete for one broker", id, opDelete, nil)
			alter("delete for all", "", opDelete, nil)
			alter("append", id, opAppend, new("2"))
		},
	},
	{
		Name:   "configs/list-resources",
		Intent: "resources that have configs, by kind",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1, "retention.ms=1000")
			for _, kind := range []int8{2, 4, 8, 16, 32, 77} {
				request := kmsg.NewPtrListConfigResourcesRequest()
				request.ResourceTypes = []int8{kind}
				response := kit.Ask[*kmsg.ListConfigResourcesResponse](p, p.Broker(0), 1, request)
				p.NoteError(fmt.Sprintf("kind %d", kind), response.ErrorCode)
				for _, resource := range response.ConfigResources {
					if resource.Name == topic.Name {
						p.Note("lists", resource.Name)
					}
				}
			}
			response := kit.Ask[*kmsg.ListConfigResourcesResponse](
				p,
				p.Broker(0),
				1,
				kmsg.NewPtrListConfigResourcesRequest(),
			)
			kinds := map[int8]bool{}
			for _, resource := range response.ConfigResources {
				kinds[resource.Type] = true
			}
			p.Note("without a kind: topics and brokers", kinds[2] && kinds[4])
		},
	},
}

// Operations of IncrementalAlterConfigs.
const (
	opSet      kmsg.IncrementalAlterConfigOp = 0
	opDelete   kmsg.IncrementalAlterConfigOp = 1
	opAppend   kmsg.IncrementalAlterConfigOp = 2
	opSubtract kmsg.IncrementalAlterConfigOp = 3
)

func byName(
	configs []kmsg.DescribeConfigsResponseResourceConfig,
) []kmsg.DescribeConfigsResponseResourceConfig {
	slices.SortFunc(configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int {
		return strings.Compare(a.Name, b.Name)
	})
	return configs
}

func awaitConfig(p *kit.P, topic, key, value string) {
	p.Await(key+"="+value, func() bool {
		request := kit.DescribeConfigs(kit.KindTopic, topic, key)
		response := kit.Ask[*kmsg.DescribeConfigsResponse](p, p.Broker(0), 4, request)
		configs := response.Resources[0].Configs
		return len(configs) == 1 && configs[0].Value != nil && *configs[0].Value == value
	})
}
