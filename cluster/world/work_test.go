package world

import (
	"hash/crc32"
	"sync/atomic"
	"testing"

	"highwater/cluster/event"
)

// A checkpoint that a dead node still wrote would meet the disk of its successor, and a sync of it
// that failed would make that disk fail closed.
func TestNodeThatFailsHasNothingUnderWayOnceThatIsTold(t *testing.T) {
	var ended atomic.Int32
	const asked = 8
	told := false
	w := New(Config{Live: true, NodeFailed: func(event.NodeID, string) {
		told = true
		if n := ended.Load(); n != asked {
			t.Errorf("%d of %d pieces of work had ended when the node's disk was taken away", n, asked)
		}
	}})
	var env *Env
	w.Add(Spec{ID: 1, Start: func(e *Env) (Node, error) { env = e; return &dozer{e}, nil }})
	must(t, w.StartNode(1))
	for range asked {
		env.Work("checkpoint", 0, func() any {
			sum := crc32.ChecksumIEEE(make([]byte, 1<<20))
			ended.Add(1)
			return sum
		}, func(any) { t.Error("a dead node was told of its work") })
	}
	env.Fail("disk", "input/output error")
	if !told || w.Alive(1) {
		t.Error("the node did not go down")
	}
}
