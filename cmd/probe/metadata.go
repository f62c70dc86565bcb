package main

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var metadataProbes = []kit.Probe{
	{
		Name:   "metadata/versions",
		Intent: "one topic at every version",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 2)
			for version := int16(0); version <= 13; version++ {
				p.Show(fmt.Sprintf("v%d", version), p.Broker(0), version, kit.Metadata(topic.Name))
			}
		},
	},
	{
		Name:   "metadata/all-topics",
		Intent: "a null list (v0: an empty one) means all topics",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			for _, version := range []int16{0, 1, 12} {
				request := kit.Metadata()
				if version > 0 {
					request.Topics = nil
				}
				response := kit.Ask[*kmsg.MetadataResponse](p, p.Broker(0), version, request)
				found := false
				for _, t := range response.Topics {
					found = found || t.Topic != nil && *t.Topic == topic.Name
				}
				p.Note(fmt.Sprintf("v%d lists ours", version), found)
			}
		},
	},
	{
		Name:   "metadata/auto-create-old",
		Intent: "before v4 auto creation cannot be switched off",
		Run: func(p *kit.P) {
			name := p.Name("auto")
			p.Show("first", p.Broker(0), 1, kit.Metadata(name))
			p.Forget(name)
			p.AwaitTopic(name, 1)
		},
	},
	{
		Name:   "metadata/auto-create-collision",
		Intent: "auto creation of a name that collides with an existing one",
		Run: func(p *kit.P) {
			topic := p.Topic("x.y", 1)
			request := kit.Metadata(strings.ReplaceAll(topic.Name, "x.y", "x_y"))
			p.Hide(*request.Topics[0].Topic, "<x_y>")
			request.AllowAutoTopicCreation = true
			p.Show("v9", p.Broker(0), 9, request)
		},
	},
	{
		Name:   "metadata/invalid-names",
		Intent: "names that no topic may have",
		Run: func(p *kit.P) {
			for _, name := range []string{"", ".", "..", "a/b", "a b", "a:b", "é", strings.Repeat("n", 250)} {
				for _, create := range []bool{false, true} {
					request := kit.Metadata(name)
					request.AllowAutoTopicCreation = create
					response := kit.Ask[*kmsg.MetadataResponse](p, p.Broker(0), 9, request)
					step := fmt.Sprintf("%.8q create=%v", name, create)
					p.NoteError(step, response.Topics[0].ErrorCode)
				}
			}
		},
	},
	{
		Name:   "metadata/longest-name",
		Intent: "a name of 249 characters is legal",
		Run: func(p *kit.P) {
			p.Show("v9", p.Broker(0), 9, kit.Metadata(strings.Repeat("n", 249)))
		},
	},
	{
		Name:   "metadata/by-id",
		Intent: "v12 by id, alone and with the right or another name",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("id", p.Broker(0), 12, kit.MetadataByID(topic.ID))
			request := kit.MetadataByID(topic.ID)
			request.Topics[0].Topic = &topic.Name
			p.Show("id and name", p.Broker(0), 12, request)
			request.Topics[0].Topic = new(p.Name("other"))
			p.Show("id and another name", p.Broker(0), 12, request)
		},
	},
	{
		Name:   "metadata/by-unknown-id",
		Intent: "an id that no topic has, and the zero id without a name",
		Run: func(p *kit.P) {
			id := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
			p.HideID(id, "<unknown-id>")
			p.Show("unknown", p.Broker(0), 12, kit.MetadataByID(id))
			p.Show("zero", p.Broker(0), 12, kit.MetadataByID([16]byte{}))
		},
	},
	{
		Name:   "metadata/null-name",
		Intent: "a null name without an id",
		Run: func(p *kit.P) {
			request := kit.MetadataByID([16]byte{})
			p.Show("v12", p.Dial(0), 12, request)
			p.Show("v10", p.Dial(0), 10, request)
		},
	},
	{
		Name:   "metadata/duplicate-topics",
		Intent: "the same topic twice in one request",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show("v9", p.Broker(0), 9, kit.Metadata(topic.Name, topic.Name))
			p.Show("v12 by id", p.Broker(0), 12, kit.MetadataByID(topic.ID, topic.ID))
		},
	},
	{
		Name:   "metadata/mixed",
		Intent: "known, unknown and invalid names in one request",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			p.Show(
				"v12",
				p.Broker(0),
				12,
				kit.Metadata(topic.Name, p.Name("unknown"), "not a name"),
			)
		},
	},
	{
		Name:   "metadata/topic-operations",
		Intent: "authorised operations of a topic without an authorizer",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			request := kit.Metadata(topic.Name)
			request.IncludeTopicAuthorizedOperations = true
			p.Show("v8", p.Broker(0), 8, request)
			p.Show("v12", p.Broker(0), 12, request)
		},
	},
	{
		Name:   "metadata/cluster-operations",
		Intent: "authorised operations of the cluster: v8 to v10 only",
		Run: func(p *kit.P) {
			request := kit.Metadata()
			request.IncludeClusterAuthorizedOperations = true
			for _, version := range []int16{8, 10, 11, 12} {
				response := kit.Ask[*kmsg.MetadataResponse](p, p.Broker(0), version, request)
				p.Note(fmt.Sprintf("v%d", version), response.AuthorizedOperations)
			}
		},
	},
	{
		Name:   "metadata/after-delete",
		Intent: "a deleted topic is unknown by name and by id",
		Run: func(p *kit.P) {
			topic := p.Topic("a", 1)
			kit.Ask[*kmsg.DeleteTopicsResponse](p, p.Broker(0), 5, kit.DeleteTopics(topic.Name))
			p.Await("the deletion", func() bool {
				response := kit.Ask[*kmsg.MetadataResponse](
					p,
					p.Broker(0),
					12,
					kit.MetadataByID(topic.ID),
				)
				return len(response.Topics) == 1 && response.Topics[0].ErrorCode != 0
			})
			p.Show("by id", p.Broker(0), 12, kit.MetadataByID(topic.ID))
			p.Show("by name", p.Broker(0), 12, kit.Metadata(topic.Name))
		},
	},
	{
		Name:   "metadata/recreated-topic",
		Intent: "a topic made again under its old name has a new id",
		Run: func(p *kit.P) {
			old := p.Topic("a", 1)
			kit.Ask[*kmsg.DeleteTopicsResponse](p, p.Broker(0), 5, kit.DeleteTopics(old.Name))
			p.Await("the deletion", func() bool {
				response := kit.Ask[*kmsg.MetadataResponse](
					p,
					p.Broker(0),
					12,
					kit.Metadata(old.Name),
				)
				return len(response.Topics) == 1 && response.Topics[0].ErrorCode != 0
			})
			again := p.Topic("a", 1)
			p.Note("same name", again.Name == old.Name)
			p.Note("same id", again.ID == old.ID)
			p.HideID(old.ID, "<old-id>")
			p.Show("old id", p.Broker(0), 12, kit.MetadataByID(old.ID))
		},
	},
}
