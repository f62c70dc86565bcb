package event

import "github.com/twmb/franz-go/pkg/kerr"

// errorCodeMax is above every error code of Kafka.
const errorCodeMax = 160

// ErrorName is Kafka's name of an error code, "" of none. The library still has one name from before
// 2.8.
func ErrorName(code int16) string {
	switch code {
	case 0:
		return ""
	case kerr.NotLeaderForPartition.Code:
		return "NOT_LEADER_OR_FOLLOWER"
	}
	if e := kerr.TypedErrorForCode(code); e != nil {
		return e.Message
	}
	return unknownError
}

const unknownError = "UNKNOWN_SERVER_ERROR"

// ErrorNames lists the names of the codes from 1 on, "" where Kafka has no error.
func ErrorNames() []string {
	names := make([]string, 0, errorCodeMax)
	last := 0
	for code := int16(1); code < errorCodeMax; code++ {
		name := ErrorName(code)
		if name == unknownError {
			name = ""
		} else {
			last = int(code)
		}
		names = append(names, name)
	}
	return names[:last]
}
