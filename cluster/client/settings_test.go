package client

import (
	"strings"
	"testing"
	"time"
)

func given(words ...string) []Setting {
	var list []Setting
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		list = append(list, Setting{Name: name, Value: value})
	}
	return list
}

func TestIdempotenceFollowsKafkasRules(t *testing.T) {
	for text, want := range map[string]string{
		"":       "true",
		"acks=1": "false",
		"acks=0": "false",
		"max.in.flight.requests.per.connection=6": "false",
		"retries=0":                                          "false",
		"acks=-1":                                            "true",
		"enable.idempotence=false":                           "false",
		"acks=1 enable.idempotence=true":                     "must set acks to all",
		"retries=0 enable.idempotence=true":                  "must set retries",
		"transactional.id=t":                                 "true",
		"transactional.id=t acks=1":                          "without also enabling idempotence",
		"transactional.id=t enable.idempotence=false":        "without also enabling idempotence",
		"linger.ms=x":                                        "linger.ms must be milliseconds",
		"batch.size=-1":                                      "batch.size must be a whole number",
		"compression.type=rar":                               "compression.type is one of",
		"delivery.timeout.ms=10":                             "at least linger.ms + request.timeout.ms",
		"request.timeout.ms=10000 delivery.timeout.ms=11000": "true",
		"linger.ms=20ms":                                     "true",
		"lingr.ms=20":                                        "there is no configuration",
	} {
		config, err := ParseProducerConfig(given(strings.Fields(text)...))
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %s", text, err, want)
		case err == nil && config.Idempotent != (want == "true"):
			t.Errorf("%s: idempotent %v, want %s", text, config.Idempotent, want)
		}
	}
}

func TestRequestTimeoutStretchesADefaultDeliveryTimeout(t *testing.T) {
	config, err := ParseProducerConfig(given("request.timeout.ms=200000"))
	if err != nil || config.DeliveryTimeout != 200*time.Second+5*time.Millisecond {
		t.Errorf("%v, %v", config.DeliveryTimeout, err)
	}
}

func TestConsumerWithoutAGroupDoesNotCommitByItself(t *testing.T) {
	alone, err := ParseConsumerConfig(nil)
	if err != nil || alone.AutoCommit {
		t.Errorf("%v, %v", alone.AutoCommit, err)
	}
	member, err := ParseConsumerConfig(given("group.id=g"))
	if err != nil || !member.AutoCommit {
		t.Errorf("%v, %v", member.AutoCommit, err)
	}
	if _, err := ParseConsumerConfig(given("enable.auto.commit=true")); err == nil {
		t.Error("automatic commits without a group are accepted")
	}
	if _, err := ParseConsumerConfig(given("group.id=g", "session.timeout.ms=3000")); err == nil {
		t.Error("heartbeats as rare as the session is long are accepted")
	}
}
