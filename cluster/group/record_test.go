package group

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
)

// kafkaRecord is a record that Kafka wrote, and the partition that it wrote it to.
type kafkaRecord struct {
	Record
	partition int32
}

func kafkaRecords(t *testing.T) (list []kafkaRecord) {
	t.Helper()
	text, err := os.ReadFile("testdata/kafka-records.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		partition, err := strconv.ParseInt(words[0], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		r := kafkaRecord{partition: int32(partition), Record: Record{Key: unhex(t, words[1])}}
		if words[2] != "null" {
			r.Value = unhex(t, words[2])
		}
		list = append(list, r)
	}
	return list
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecordsOfKafkaAreWrittenAgainToTheByte(t *testing.T) {
	offsets, groups := 0, 0
	for i, r := range kafkaRecords(t) {
		d, known, err := decode(r.Record)
		if err != nil {
			t.Errorf("record %d: %v", i, err)
		}
		if !known {
			continue // of a KIP-848 group
		}
		if got := PartitionFor(d.group, 5); got != r.partition {
			t.Errorf("group %s is in partition %d, Kafka keeps it in %d", d.group, got, r.partition)
		}
		var again Record
		switch {
		case d.offset != nil:
			again = offsetRecord(d.group, d.partition, *d.offset)
			offsets++
		case d.metadata != nil:
			again = groupRecord(d.group, d.metadata)
			groups++
		default:
			continue
		}
		if string(again.Key) != string(r.Key) || string(again.Value) != string(r.Value) {
			t.Errorf("record %d is written as\n%x %x, Kafka wrote\n%x %x", i, again.Key, again.Value,
				r.Key, r.Value)
		}
	}
	if offsets < 10 || groups < 3 {
		t.Errorf("only %d offsets and %d groups were compared", offsets, groups)
	}
}

func TestGroupWhoseHashHasNoPositiveFormIsInPartitionZero(t *testing.T) {
	// The text is known for its Java hash, which is Integer.MIN_VALUE.
	if got := PartitionFor("polygenelubricants", 50); got != 0 {
		t.Errorf("partition %d, want 0 as by Kafka's Utils.abs", got)
	}
}

func TestOffsetWithALifetimeOfItsOwnKeepsIt(t *testing.T) {
	r := offsetRecord("g", Partition{"orders", 3}, Committed{Offset: 7, Timestamp: 5, Expires: 99})
	d, known, err := decode(r)
	if err != nil || !known || d.offset == nil {
		t.Fatalf("known %v, %v", known, err)
	}
	if d.offset.Expires != 99 || d.offset.Offset != 7 || d.offset.LeaderEpoch != -1 {
		t.Errorf("read back as %+v", *d.offset)
	}
}

func FuzzDecodeNeverPanics(f *testing.F) {
	f.Add([]byte{0, 1, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 0}, []byte{0, 4})
	f.Add([]byte{0, 2, 0, 1, 'g'}, []byte{0, 3, 0, 0})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if _, known, err := decode(Record{Key: key, Value: value}); known && err != nil {
			t.Error("a record is both known and not readable")
		}
	})
}
