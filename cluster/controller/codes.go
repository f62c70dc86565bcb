package controller

// Kafka's error codes that the controller answers with.
const (
	codeUnknownServerError         int16 = -1
	codeNone                       int16 = 0
	codeUnknownTopicOrPartition    int16 = 3
	codeInvalidTopic               int16 = 17
	codeTopicAlreadyExists         int16 = 36
	codeInvalidPartitions          int16 = 37
	codeInvalidReplicationFactor   int16 = 38
	codeInvalidReplicaAssignment   int16 = 39
	codeInvalidConfig              int16 = 40
	codeNotController              int16 = 41
	codeInvalidRequest             int16 = 42
	codeFencedLeaderEpoch          int16 = 74
	codeStaleBrokerEpoch           int16 = 77
	codePreferredLeaderUnavailable int16 = 80
	codeEligibleLeadersUnavailable int16 = 83
	codeElectionNotNeeded          int16 = 84
	codeInvalidUpdateVersion       int16 = 95
	codeUnknownTopicID             int16 = 100
	codeBrokerIDNotRegistered      int16 = 102
	codeInconsistentClusterID      int16 = 104
	codeNewLeaderElected           int16 = 108
	codeIneligibleReplica          int16 = 107
)

// answerError is a refusal: a code and what Kafka says with it.
type answerError struct {
	code    int16
	message string
}

func refuse(code int16, message string) *answerError { return &answerError{code, message} }

// text returns the message as responses carry it, nil for an empty one.
func (e *answerError) text() *string {
	if e == nil || e.message == "" {
		return nil
	}
	return &e.message
}
