package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cmd/probe/kit"
)

var transactionsProbes = []kit.Probe{
	{
		Name:   "transactions/init-errors",
		Intent: "empty id, timeouts out of bounds, wrong id and epoch, not the coordinator",
		Run: func(p *kit.P) {
			id := p.Name("id")
			c := p.TxnCoordinator(id)
			empty := kit.InitProducer("", 60000)
			empty.TransactionalID = new("")
			p.Show("empty id", c, 4, empty)
			for _, timeout := range []int32{0, -1, 900_000, 900_001} {
				p.Show(fmt.Sprintf("timeout %d ms", timeout), c, 4, kit.InitProducer(id, timeout))
			}
			for i := range p.BrokerCount() {
				if p.Broker(i) != c {
					p.Show("not the coordinator", p.Broker(i), 4, kit.InitProducer(id, 60000))
				}
			}
		},
	},
	{
		Name:   "transactions/init-recover",
		Intent: "v3+ with the current id and epoch: accepted; an older epoch: fenced; another id: refused",
		Run: func(p *kit.P) {
			id := p.Name("id")
			c := p.TxnCoordinator(id)
			producer := p.Transactional(c, id)
			request := kit.InitProducer(id, 60000)
			request.ProducerID, request.ProducerEpoch = producer.ID, producer.Epoch
			p.Show("current", c, 4, request)
			p.Show("one before", c, 4, request)
			p.Transactional(c, id)
			p.Show("older", c, 4, request)
			request.ProducerID = producer.ID + 1_000_000
			p.Show("another id", c, 4, request)
		},
	},
	{
		Name:   "transactions/commit",
		Intent: "data, commit marker, next data: what both isolation levels see",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.Transaction(c, id, producer, topic, 0, true, "x", "y")
			p.Write(topic, 0, p.Values("plain"))
			showBoth(p, topic, 0)
		},
	},
	{
		Name:   "transactions/abort",
		Intent: "an aborted transaction is listed for read_committed, from any offset up to its marker",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.Transaction(c, id, producer, topic, 0, false, "x", "y")
			p.Write(topic, 0, p.Values("plain"))
			for _, offset := range []int64{0, 1, 2, 3} {
				showBoth(p, topic, offset)
			}
		},
	},
	{
		Name:   "transactions/aborted-list",
		Intent: "two aborted transactions and a committed one: which are listed where",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.Transaction(c, id, producer, topic, 0, false, "a")
			p.Transaction(c, id, producer, topic, 1, true, "b")
			p.Transaction(c, id, producer, topic, 2, false, "c")
			for offset := range int64(6) {
				request := kit.Fetch(topic, 0, offset)
				request.IsolationLevel = 1
				response := kit.Ask[*kmsg.FetchResponse](p, p.Broker(0), 12, request)
				var first []int64
				for _, aborted := range response.Topics[0].Partitions[0].AbortedTransactions {
					first = append(first, aborted.FirstOffset)
				}
				p.Note(fmt.Sprintf("from %d", offset), first)
			}
		},
	},
	{
		Name:   "transactions/open",
		Intent: "an open transaction holds the last stable offset back",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.Write(topic, 0, p.Values("before"))
			p.OpenTransaction(c, id, producer, topic, 0, "x")
			p.Write(topic, 0, p.Values("after"))
			showBoth(p, topic, 0)
			p.Show("producers", p.Broker(0), 0, describeProducers(topic.Name, 0))
			p.Show("describe", c, 0, describeTransaction(id))
			kit.Ask[*kmsg.EndTxnResponse](p, c, 3, kit.EndTxn(id, producer, true))
			p.AwaitTransaction(c, id)
			showBoth(p, topic, 0)
			p.Show("producers afterwards", p.Broker(0), 0, describeProducers(topic.Name, 0))
		},
	},
	{
		Name:   "transactions/add-partitions-errors",
		Intent: "unknown topic, wrong id, wrong epoch, unknown transactional id",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			unknown := kit.AddPartitions(id, producer, topic.Name, 0)
			unknown.Topics = append(
				unknown.Topics,
				kmsg.AddPartitionsToTxnRequestTopic{
					Topic:      p.Name("unknown"),
					Partitions: []int32{0},
				},
			)
			p.Show("one known, one unknown topic", c, 3, unknown)
			p.Show(
				"another producer id",
				c,
				3,
				kit.AddPartitions(
					id,
					kit.Producer{ID: producer.ID + 1_000_000, Epoch: 0},
					topic.Name,
					0,
				),
			)
			p.Show(
				"newer epoch",
				c,
				3,
				kit.AddPartitions(
					id,
					kit.Producer{ID: producer.ID, Epoch: producer.Epoch + 1},
					topic.Name,
					0,
				),
			)
			p.Show(
				"older epoch",
				c,
				3,
				kit.AddPartitions(
					id,
					kit.Producer{ID: producer.ID, Epoch: producer.Epoch - 1},
					topic.Name,
					0,
				),
			)
			other := p.Name("other")
			p.Show(
				"unknown id",
				p.TxnCoordinator(other),
				3,
				kit.AddPartitions(other, producer, topic.Name, 0),
			)
			p.Show("empty id", c, 3, kit.AddPartitions("", producer, topic.Name, 0))
		},
	},
	{
		Name:   "transactions/implicit-add",
		Intent: "v12 adds the partition itself; EndTxn v5 answers with the next epoch",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.Show(
				"produce v12",
				p.Broker(0),
				12,
				kit.ProduceInTransaction(id, topic, p.Values("x").From(producer, 0)),
			)
			p.Show("describe", c, 0, describeTransaction(id))
			ended := kit.Try[*kmsg.EndTxnResponse](
				p,
				"commit v5",
				c,
				5,
				kit.EndTxn(id, producer, true),
			)
			p.AwaitTransaction(c, id)
			p.Show("commit again with the old epoch", c, 5, kit.EndTxn(id, producer, true))
			next := kit.Producer{ID: ended.ProducerID, Epoch: ended.ProducerEpoch}
			p.Show(
				"produce with the old epoch",
				p.Broker(0),
				12,
				kit.ProduceInTransaction(id, topic, p.Values("y").From(producer, 1)),
			)
			p.Show(
				"produce with the next epoch",
				p.Broker(0),
				12,
				kit.ProduceInTransaction(id, topic, p.Values("z").From(next, 0)),
			)
			p.Show("abort v5", c, 5, kit.EndTxn(id, next, false))
			p.AwaitTransaction(c, id)
			showBoth(p, topic, 0)
		},
	},
	{
		Name:   "transactions/end-twice",
		Intent: "repeating the end is fine, the opposite is INVALID_TXN_STATE",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.Transaction(c, id, producer, topic, 0, true, "x")
			p.Show("commit again", c, 3, kit.EndTxn(id, producer, true))
			p.Show("abort", c, 3, kit.EndTxn(id, producer, false))
		},
	},
	{
		Name:   "transactions/end-versions",
		Intent: "EndTxn at every version",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			for version := int16(0); version <= 4; version++ {
				p.OpenTransaction(c, id, producer, topic, int32(version), "x")
				p.Show(
					fmt.Sprintf("v%d", version),
					c,
					version,
					kit.EndTxn(id, producer, version%2 == 0),
				)
				p.AwaitTransaction(c, id)
			}
		},
	},
	{
		Name:   "transactions/end-errors",
		Intent: "wrong id, wrong epoch, unknown transactional id",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.OpenTransaction(c, id, producer, topic, 0, "x")
			for _, version := range []int16{1, 3, 5} {
				step := fmt.Sprintf(" v%d", version)
				p.Show(
					"newer epoch"+step,
					c,
					version,
					kit.EndTxn(id, kit.Producer{ID: producer.ID, Epoch: producer.Epoch + 1}, true),
				)
				p.Show(
					"another id"+step,
					c,
					version,
					kit.EndTxn(id, kit.Producer{ID: producer.ID + 1_000_000}, true),
				)
			}
			other := p.Name("other")
			p.Show("unknown id", p.TxnCoordinator(other), 3, kit.EndTxn(other, producer, true))
			p.Show("abort", c, 3, kit.EndTxn(id, producer, false))
		},
	},
	{
		Name:   "transactions/non-transactional-inside",
		Intent: "a plain batch of the same producer while its transaction is open",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.OpenTransaction(c, id, producer, topic, 0, "x")
			p.Show(
				"plain",
				p.Broker(0),
				11,
				kit.Produce(topic, 0, -1, p.Values("y").From(producer, 1)),
			)
			kit.Ask[*kmsg.EndTxnResponse](p, c, 3, kit.EndTxn(id, producer, false))
		},
	},
	{
		Name:   "transactions/describe",
		Intent: "DescribeTransactions: empty, ongoing, complete, unknown",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.Show("empty", c, 0, describeTransaction(id))
			p.OpenTransaction(c, id, producer, topic, 0, "x")
			p.Show("ongoing", c, 0, describeTransaction(id))
			kit.Ask[*kmsg.EndTxnResponse](p, c, 3, kit.EndTxn(id, producer, true))
			p.AwaitTransaction(c, id)
			p.Show("complete", c, 0, describeTransaction(id))
			other := p.Name("other")
			p.Show("unknown", p.TxnCoordinator(other), 0, describeTransaction(other))
			p.Show("empty id", c, 0, describeTransaction(""))
		},
	},
	{
		Name:   "transactions/list",
		Intent: "ListTransactions with filters by state, producer, duration and pattern",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.OpenTransaction(c, id, producer, topic, 0, "x")
			try := func(step string, version int16, change func(*kmsg.ListTransactionsRequest)) {
				request := kmsg.NewPtrListTransactionsRequest()
				change(request)
				response := kit.Ask[*kmsg.ListTransactionsResponse](p, c, version, request)
				p.NoteError(step, response.ErrorCode)
				p.Note("unknown states", response.UnknownStateFilters)
				for _, state := range response.TransactionStates {
					if state.TransactionalID == id {
						p.Note("listed", state.TransactionState)
					}
				}
			}
			try("all", 0, func(*kmsg.ListTransactionsRequest) {})
			try(
				"Ongoing",
				0,
				func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Ongoing"} },
			)
			try(
				"Empty and bogus",
				0,
				func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Empty", "Bogus"} },
			)
			try(
				"this producer",
				0,
				func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{producer.ID} },
			)
			try(
				"another producer",
				0,
				func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{producer.ID + 1_000_000} },
			)
			try(
				"longer than an hour",
				1,
				func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 3600_000 },
			)
			try(
				"pattern",
				2,
				func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = new("probe-.*-id") },
			)
			try(
				"broken pattern",
				2,
				func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = new("[") },
			)
			kit.Ask[*kmsg.EndTxnResponse](p, c, 3, kit.EndTxn(id, producer, false))
		},
	},
	{
		Name:   "transactions/offsets",
		Intent: "TxnOffsetCommit becomes visible with the commit; until then require stable gives 88",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			group := p.Name("group")
			g := p.GroupCoordinator(group)
			p.Show("add offsets", c, 3, kit.AddOffsets(id, producer, group))
			p.Show("commit offset", g, 3, kit.TxnOffsetCommit(id, producer, group, topic, 7))
			for _, stable := range []bool{false, true} {
				request := kit.OffsetFetch(group, topic, 0)
				request.RequireStable = stable
				p.Show(fmt.Sprintf("open, stable=%v", stable), g, 8, request)
			}
			p.Show("end", c, 3, kit.EndTxn(id, producer, true))
			p.AwaitTransaction(c, id)
			p.Show("committed", g, 8, kit.OffsetFetch(group, topic, 0))
		},
	},
	{
		Name:   "transactions/offsets-implicit",
		Intent: "TxnOffsetCommit v5 adds the group itself; before v5 it must have been added",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			group := p.Name("group")
			g := p.GroupCoordinator(group)
			p.Show("v3 without adding", g, 3, kit.TxnOffsetCommit(id, producer, group, topic, 5))
			p.Show("v4 without adding", g, 4, kit.TxnOffsetCommit(id, producer, group, topic, 5))
			p.Show("v5", g, 5, kit.TxnOffsetCommit(id, producer, group, topic, 7))
			p.Show("v6", g, 6, kit.TxnOffsetCommit(id, producer, group, topic, 8))
			described := kit.Ask[*kmsg.DescribeTransactionsResponse](
				p,
				c,
				0,
				describeTransaction(id),
			)
			for _, part := range described.TransactionStates[0].Topics {
				p.Note(
					"in the transaction",
					fmt.Sprintf("%s, %d partition", part.Topic, len(part.Partitions)),
				)
			}
			p.Show("end v5", c, 5, kit.EndTxn(id, producer, true))
			p.AwaitTransaction(c, id)
			p.Show("fetch", g, 8, kit.OffsetFetch(group, topic, 0))
		},
	},
	{
		Name:   "transactions/offsets-errors",
		Intent: "wrong generation and member, wrong epoch, unknown topic, metadata too long",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			group := p.Name("group")
			g := p.GroupCoordinator(group)
			kit.Ask[*kmsg.AddOffsetsToTxnResponse](p, c, 3, kit.AddOffsets(id, producer, group))
			ghost := kit.TxnOffsetCommit(id, producer, group, topic, 7)
			ghost.MemberID, ghost.Generation = "ghost", 3
			p.Show("unknown member", g, 3, ghost)
			p.Show(
				"unknown topic",
				g,
				3,
				kit.TxnOffsetCommit(id, producer, group, kit.Topic{Name: p.Name("unknown")}, 7),
			)
			p.Show(
				"newer epoch",
				g,
				3,
				kit.TxnOffsetCommit(
					id,
					kit.Producer{ID: producer.ID, Epoch: producer.Epoch + 1},
					group,
					topic,
					7,
				),
			)
			p.Show(
				"add offsets, newer epoch",
				c,
				3,
				kit.AddOffsets(id, kit.Producer{ID: producer.ID, Epoch: producer.Epoch + 1}, group),
			)
			p.Show("add offsets, empty group", c, 3, kit.AddOffsets(id, producer, ""))
			kit.Ask[*kmsg.EndTxnResponse](p, c, 3, kit.EndTxn(id, producer, false))
		},
	},
	{
		Name:   "transactions/write-markers",
		Intent: "WriteTxnMarkers from a client: unknown partition, hanging transaction ended, epoch too old",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.OpenTransaction(c, id, producer, topic, 0, "x")
			marker := func(name string, epoch int16) *kmsg.WriteTxnMarkersRequest {
				request := kmsg.NewPtrWriteTxnMarkersRequest()
				request.Markers = []kmsg.WriteTxnMarkersRequestMarker{{
					ProducerID: producer.ID, ProducerEpoch: epoch, CoordinatorEpoch: 0,
					Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{
						{Topic: name, Partitions: []int32{0}},
					},
				}}
				return request
			}
			p.Show("unknown topic", p.Broker(0), 1, marker(p.Name("unknown"), producer.Epoch))
			p.Show("older epoch", p.Broker(0), 1, marker(topic.Name, producer.Epoch-1))
			p.Show("abort", p.Broker(0), 1, marker(topic.Name, producer.Epoch))
			p.Show("abort again", p.Broker(0), 1, marker(topic.Name, producer.Epoch))
			showBoth(p, topic, 0)
			kit.Ask[*kmsg.EndTxnResponse](p, c, 3, kit.EndTxn(id, producer, false))
		},
	},
	{
		Name:   "transactions/delete-records-inside",
		Intent: "records of an open transaction are deleted: it can still be ended",
		Run: func(p *kit.P) {
			topic, id, c, producer := newTransaction(p)
			p.OpenTransaction(c, id, producer, topic, 0, "x", "y")
			p.Show("delete", p.Broker(0), 2, kit.DeleteRecords(topic.Name, 0, -1))
			p.Show("end", c, 3, kit.EndTxn(id, producer, true))
			p.AwaitTransaction(c, id)
			showBoth(p, topic, 2)
		},
	},
}

// newTransaction makes a topic and an initialised transactional id.
func newTransaction(p *kit.P) (kit.Topic, string, *kit.Conn, kit.Producer) {
	topic, id := p.Topic("a", 2), p.Name("id")
	c := p.TxnCoordinator(id)
	return topic, id, c, p.Transactional(c, id)
}

// showBoth fetches partition 0 at both isolation levels, once all replicas know the end.
func showBoth(p *kit.P, topic kit.Topic, offset int64) {
	for level := int8(0); level <= 1; level++ {
		request := kit.Fetch(topic, 0, offset)
		request.IsolationLevel = level
		p.Show(fmt.Sprintf("fetch %d at level %d", offset, level), p.Broker(0), 12, request)
	}
}

func describeTransaction(id string) *kmsg.DescribeTransactionsRequest {
	request := kmsg.NewPtrDescribeTransactionsRequest()
	request.TransactionalIDs = []string{id}
	return request
}
