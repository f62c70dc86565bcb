// Package partition is one replica of one partition in its role: as leader it appends, counts what
// followers fetched, moves the high watermark and proposes in-sync replicas; as follower it takes
// over what its leader sent and cuts its log where the leader says. It is not the fetch loop
// (package replica) and answers no requests (package broker, which owns and calls it).
package partition
