package model

import (
	"math"
	"math/rand/v2"
	"strconv"

	"highwater/cluster/event"
)

// randomChunk makes events of all kinds with values from small pools, so that they meet in the
// same topics, logs and messages, and now and then with values at the edge of 64 bits.
func randomChunk(seed uint64, n int) *event.Chunk {
	dice := rand.New(rand.NewPCG(seed, 1))
	rows := event.Rows()
	c := &event.Chunk{}
	var at int64
	for i := range n {
		row := rows[dice.IntN(len(rows))]
		at += dice.Int64N(1e9)
		r := event.Record{Seq: event.Seq(i + 1), At: at, Kind: row.Kind,
			Node: []event.NodeID{1, 2, 3, 101, 102, 103}[dice.IntN(6)], Cause: event.Seq(i)}
		for f, field := range row.Fields {
			r.Values[f] = randomValue(c, dice, field)
		}
		c.Records = append(c.Records, r)
	}
	return c
}

func randomValue(c *event.Chunk, dice *rand.Rand, field event.Field) int64 {
	switch field.Type {
	case event.Text:
		return randomText(c, dice, field.Name)
	case event.Bool:
		return dice.Int64N(2)
	case event.Nodes:
		ids := []event.NodeID{1, 2, 3}
		dice.Shuffle(3, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		c.Lists = append(c.Lists, ids[:dice.IntN(4)])
		return int64(len(c.Lists))
	case event.Int64:
		if dice.IntN(50) == 0 {
			return []int64{math.MaxInt64 - 1, math.MinInt64, 1 << 53, 1<<53 + 1}[dice.IntN(4)]
		}
		return dice.Int64N(60) - 1
	}
	switch {
	case field.Name == "connection":
		return int64(event.FirstOutside) + dice.Int64N(6)
	case field.Of == "NodeID":
		return []int64{1, 2, 3, 101, 102, 103, -1}[dice.IntN(7)]
	}
	return dice.Int64N(5) - 1
}

func randomText(c *event.Chunk, dice *rand.Rand, name string) int64 {
	pools := map[string][]string{
		"topic":        {"orders", "payments", "audit", "__consumer_offsets"},
		"resource":     {"orders", "payments"},
		"resourceType": {"topic", "broker"},
		"holes":        {"0-3,7-9", "12-12", "x,4", "30-50,-", "5-2", "999999999999999990-999999999999999999"},
		"offsets":      {"0-3,7-9", "4-5", "x,4", "1-1,3-3,5-5,9-9", "5-2", "20-40"},
		"epochs":       {"0@0,2@17", "1@1,x@2,@3", "2@999999999999999999", "1234567890@5,4@"},
		"name":         {"min.insync.replicas", "retention.ms"},
		"api":          {"Fetch", "Produce", "Metadata"},
	}
	text := strconv.Itoa(dice.IntN(9))
	if pool := pools[name]; pool != nil {
		text = pool[dice.IntN(len(pool))]
	} else if dice.IntN(3) == 0 {
		text = []string{"<a>&\"\\", "ü€😀", "line\nfeed\x01", ""}[dice.IntN(4)]
	}
	if text == "" {
		return 0
	}
	c.Texts = append(c.Texts, text)
	return int64(len(c.Texts))
}
