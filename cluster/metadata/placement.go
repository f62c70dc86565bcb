package metadata

import "highwater/cluster/event"

// AssignReplicas places the replicas of new partitions on unfenced brokers, which are sorted by
// id: the first partition's leader is brokers[startIndex], each next partition starts one broker
// later, and followers are the brokers after their leader, as Kafka's StripedReplicaPlacer does
// without racks. Where Kafka shuffles after each full round, the followers move on by one, which
// spreads them as well and needs no dice. It returns nil when there are too few brokers.
func AssignReplicas(
	brokers []event.NodeID, partitions, replicationFactor, startIndex int,
) [][]event.NodeID {
	n := len(brokers)
	if replicationFactor < 1 || replicationFactor > n || partitions < 0 || startIndex < 0 {
		return nil
	}
	assignments := make([][]event.NodeID, partitions)
	for partition := range assignments {
		leader := (startIndex + partition) % n
		replicas := append(make([]event.NodeID, 0, replicationFactor), brokers[leader])
		for follower := range replicationFactor - 1 {
			step := 1 + (follower+partition/n)%(n-1)
			replicas = append(replicas, brokers[(leader+step)%n])
		}
		assignments[partition] = replicas
	}
	return assignments
}
