// Package commitlog is one partition's log on a disk: segments with their three indexes, the leader
// epochs, the producers' state, recovery, truncation, retention and a check of it all, in Kafka's
// own files. It is not a replica: it knows no leader, no followers and no high watermark but the
// one it is told. cluster/partition and cluster/replica append and read, cluster/cleaner rewrites,
// cluster/controller keeps Raft's log in one, and the dump command checks directories with it.
//
// A Log belongs to one goroutine, takes no locks and starts none. What may be slow and need not
// be waited for, such as syncing and unlinking, is handed out as Tickets.
package commitlog
