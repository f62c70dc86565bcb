package server

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"highwater/cluster/event"
	"highwater/viz/model"
)

// metrics writes Prometheus text under the names that jmx_exporter gives Kafka's own metrics, from
// the folded state.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	state := s.config.Main.Hub.Latest()
	writeClusterMetrics(&b, state)
	writePartitionMetrics(&b, state)
	gauge(&b, "highwater_promises_broken", "events that broke a promise of the cluster",
		int64(len(s.config.Main.Hub.Violations())))
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := w.Write(b.Bytes()); err != nil {
		s.config.Log.Debug("metrics not sent", "error", err)
	}
}

func gauge(b *bytes.Buffer, name, help string, value int64) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n%s %d\n", name, help, name, name, value)
}

// tally is what dashboards and alerts look for first.
type tally struct {
	partitions, underReplicated, underMinIsr, atMinIsr, offline int64
}

func tallyOf(state *model.State) tally {
	var t tally
	for _, topic := range state.Topics {
		for _, p := range topic.Partitions {
			if topic.Deleted || !p.Known {
				continue
			}
			t.partitions++
			if len(p.Isr) < len(p.Replicas) {
				t.underReplicated++
			}
			minIsr := max(1, min(int(topic.MinIsr), len(p.Replicas)))
			if len(p.Isr) < minIsr {
				t.underMinIsr++
			}
			if len(p.Isr) == minIsr {
				t.atMinIsr++
			}
			if p.Leader == event.NoNode {
				t.offline++
			}
		}
	}
	return t
}

func writeClusterMetrics(b *bytes.Buffer, state *model.State) {
	t := tallyOf(state)
	gauge(b, "kafka_server_replicamanager_partitioncount", "partitions in the cluster", t.partitions)
	gauge(b, "kafka_server_replicamanager_underreplicatedpartitions",
		"partitions with replicas out of sync", t.underReplicated)
	gauge(b, "kafka_server_replicamanager_underminisrpartitioncount",
		"partitions with fewer in sync than min.insync.replicas", t.underMinIsr)
	gauge(b, "kafka_server_replicamanager_atminisrpartitioncount",
		"partitions with exactly min.insync.replicas in sync", t.atMinIsr)
	gauge(b, "kafka_controller_kafkacontroller_offlinepartitionscount",
		"partitions without a leader", t.offline)
	var active, brokers, fenced int64
	for _, n := range state.Nodes {
		switch {
		case n.Role == "controller" && n.Alive && n.State == "leader":
			active++
		case n.Role == "broker" && n.Fenced:
			fenced++
		case n.Role == "broker" && n.Registered:
			brokers++
		}
	}
	gauge(b, "kafka_controller_kafkacontroller_activecontrollercount", "active controllers", active)
	gauge(b, "kafka_controller_kafkacontroller_activebrokercount", "brokers not fenced", brokers)
	gauge(b, "kafka_controller_kafkacontroller_fencedbrokercount", "brokers fenced", fenced)
}

func writePartitionMetrics(b *bytes.Buffer, state *model.State) {
	const end, start, isr = "kafka_log_log_logendoffset", "kafka_log_log_logstartoffset",
		"kafka_cluster_partition_insyncreplicascount"
	for _, name := range []string{end, start, isr} {
		fmt.Fprintf(b, "# TYPE %s gauge\n", name)
	}
	for _, topic := range state.Topics {
		for _, p := range topic.Partitions {
			at := slices.IndexFunc(p.Logs, func(l *model.Log) bool { return l.Node == p.Leader })
			if at < 0 {
				continue
			}
			labels := fmt.Sprintf("{topic=%q,partition=\"%d\"}", topic.Name, p.Index)
			fmt.Fprintf(b, "%s%s %d\n", end, labels, p.Logs[at].LogEndOffset)
			fmt.Fprintf(b, "%s%s %d\n", start, labels, p.Logs[at].LogStartOffset)
			fmt.Fprintf(b, "%s%s %d\n", isr, labels, len(p.Isr))
		}
	}
}
