package txn

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topic is where transactional ids are kept.
const Topic = "__transaction_state"

const (
	keyVersion = 0
	// valueVersion is the flexible one, which Kafka writes from transaction.version 1 on.
	valueVersion = 1
)

// Record is one record of __transaction_state; a nil Value is a tombstone.
type Record struct{ Key, Value []byte }

func recordKey(id string) []byte {
	key := kmsg.TxnMetadataKey{Version: keyVersion, TransactionalID: id}
	return key.AppendTo(nil)
}

func encode(id string, m *Metadata) Record {
	value := kmsg.NewTxnMetadataValue()
	value.Version = valueVersion
	value.ProducerID, value.ProducerEpoch = m.ProducerID, m.ProducerEpoch
	value.PreviousProducerID, value.NextProducerID = m.PreviousProducerID, m.NextProducerID
	value.TimeoutMillis, value.State = m.TimeoutMs, kmsg.TransactionState(m.State)
	value.LastUpdateTimestamp, value.StartTimestamp = m.LastUpdate, m.StartTimestamp
	value.ClientTransactionVersion = m.ClientVersion
	if m.State != Empty {
		value.Topics = []kmsg.TxnMetadataValueTopic{}
	}
	for _, p := range m.Partitions {
		if n := len(value.Topics); n == 0 || value.Topics[n-1].Topic != p.Topic {
			value.Topics = append(value.Topics, kmsg.TxnMetadataValueTopic{Topic: p.Topic})
		}
		last := &value.Topics[len(value.Topics)-1]
		last.Partitions = append(last.Partitions, p.Index)
	}
	return Record{Key: recordKey(id), Value: value.AppendTo(nil)}
}

// decode reads a record; m is nil for a tombstone.
func decode(r Record) (id string, m *Metadata, err error) {
	if len(r.Key) < 2 || binary.BigEndian.Uint16(r.Key) != keyVersion {
		return "", nil, fmt.Errorf("txn: a key of %d bytes that names no transactional id", len(r.Key))
	}
	key := kmsg.NewTxnMetadataKey()
	if err := key.ReadFrom(r.Key); err != nil {
		return "", nil, fmt.Errorf("txn: a key of %s: %w", Topic, err)
	}
	if r.Value == nil {
		return key.TransactionalID, nil, nil
	}
	value := kmsg.NewTxnMetadataValue()
	if err := value.ReadFrom(r.Value); err != nil {
		return "", nil, fmt.Errorf("txn: a record of %s: %w", Topic, err)
	}
	m = &Metadata{State: State(value.State), ProducerID: value.ProducerID,
		ProducerEpoch: value.ProducerEpoch, PreviousProducerID: value.PreviousProducerID,
		NextProducerID: value.NextProducerID, TimeoutMs: value.TimeoutMillis,
		StartTimestamp: value.StartTimestamp, LastUpdate: value.LastUpdateTimestamp,
		ClientVersion: value.ClientTransactionVersion, LastEpoch: noProducerEpoch}
	for _, t := range value.Topics {
		for _, index := range t.Partitions {
			m.Partitions = append(m.Partitions, Partition{t.Topic, index})
		}
	}
	slices.SortFunc(m.Partitions, comparePartitions) // Kafka's come from a hash set
	return key.TransactionalID, m, nil
}
