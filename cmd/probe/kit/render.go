package kit

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// timestampMin is the smallest number that is taken for a time of the day rather than a test value.
const timestampMin = 1_600_000_000_000

// timestampSpan is how far after the run's own time a timestamp still counts as one of the probe's.
const timestampSpan = 600_000

// volatileNumber finds what varies in error texts: numbers of nodes, epochs of members, ids, times.
var volatileNumber = regexp.MustCompile(
	`\b(controller|broker|node) \d+|epoch \(\d+\)|coordinator \(\d+\)|\d{10,}`,
)

// names turns what a broker said into something that is the same on every run.
type names struct {
	cluster   *Cluster
	texts     []replacement
	ids       map[[16]byte]string
	producers map[int64]string
	numbers   map[fieldNumber]string
	members   int
	anyBroker bool
	messages  []string
}

type fieldNumber struct {
	field  string
	number int64
}

type replacement struct{ text, placeholder string }

func newNames(cluster *Cluster) *names {
	n := &names{
		cluster:   cluster,
		ids:       map[[16]byte]string{},
		producers: map[int64]string{},
		numbers:   map[fieldNumber]string{},
	}
	if cluster.id != "" {
		n.register(cluster.id, "<cluster-id>")
	}
	return n
}

func (n *names) register(text, placeholder string) {
	if text == "" ||
		slices.ContainsFunc(n.texts, func(r replacement) bool { return r.text == text }) {
		return
	}
	n.texts = append(n.texts, replacement{text, placeholder})
	slices.SortStableFunc(n.texts, func(a, b replacement) int { return len(b.text) - len(a.text) })
}

func (n *names) registerID(id [16]byte, placeholder string) { n.ids[id] = placeholder }

func (n *names) registerProducer(id int64) {
	if _, known := n.producers[id]; !known && id >= 0 {
		n.producers[id] = fmt.Sprintf("<producer-%d>", len(n.producers)+1)
	}
}

func (n *names) text(s string) string {
	for _, r := range n.texts {
		s = strings.ReplaceAll(s, r.text, r.placeholder)
	}
	return s
}

// plain renders a value of the probe's own making.
func (n *names) plain(v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case []string:
		out := make([]string, len(v))
		for i, s := range v {
			out[i] = n.text(s)
		}
		return out
	default:
		return v
	}
}

// message renders a response. Fields at their default are left out, error codes always stay.
func (n *names) message(response kmsg.Response) any {
	return n.structure(reflect.ValueOf(response).Elem())
}

func (n *names) structure(v reflect.Value) map[string]any {
	out := map[string]any{}
	defaults := defaultOf(v.Type())
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch field.Name {
		case "Version", "UnknownTags", "ThrottleMillis":
			continue
		case "ErrorCode":
			out[field.Name] = ErrorName(int16(v.Field(i).Int()))
			continue
		}
		if reflect.DeepEqual(v.Field(i).Interface(), defaults.Field(i).Interface()) {
			continue
		}
		out[field.Name] = n.value(v.Field(i), v.Type().Name(), field.Name)
	}
	return out
}

func defaultOf(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if d, ok := v.Interface().(interface{ Default() }); ok {
		d.Default()
	}
	return v.Elem()
}

func (n *names) value(v reflect.Value, owner, field string) any {
	switch v.Kind() {
	case reflect.Pointer:
		return n.pointer(v, owner, field)
	case reflect.Struct:
		return n.structure(v)
	case reflect.Slice:
		return n.slice(v, owner, field)
	case reflect.Array:
		return n.id(v.Interface().([16]byte))
	case reflect.String:
		return n.stringField(v.String(), owner, field)
	case reflect.Bool:
		return v.Bool()
	case reflect.Float64:
		return v.Float()
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return n.integer(v.Int(), owner, field)
	default:
		return fmt.Sprint(v.Interface())
	}
}

func (n *names) pointer(v reflect.Value, owner, field string) any {
	if v.IsNil() {
		return nil
	}
	if strings.HasSuffix(field, "ErrorMessage") && v.Elem().String() != "" {
		n.messages = append(
			n.messages,
			volatileNumber.ReplaceAllString(n.text(v.Elem().String()), "<number>"),
		)
		return "<text>"
	}
	return n.value(v.Elem(), owner, field)
}

func (n *names) slice(v reflect.Value, owner, field string) any {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if field == "RecordBatches" ||
			(field == "Records" && strings.HasPrefix(owner, "ShareFetch")) {
			return n.batches(v.Bytes())
		}
		return n.bytes(v.Bytes())
	}
	if owner == "MetadataResponse" && field == "Brokers" && v.Len() == len(n.cluster.brokers) {
		return "<all brokers>"
	}
	out := make([]any, v.Len())
	for i := range v.Len() {
		out[i] = n.value(v.Index(i), owner, field)
	}
	if v.Type().Elem().Kind() == reflect.Struct || field == "Partitions" {
		sortRendered(out)
	}
	return out
}

// sortRendered puts a list whose order comes from a hash map into a fixed one.
func sortRendered(list []any) {
	slices.SortStableFunc(list, func(a, b any) int {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return compareNatural(string(x), string(y))
	})
}

// compareNatural orders texts so that numbers in them count as numbers.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 && x != y {
			return x - y
		}
		if width := max(x, 1); y == x && a[:width] == b[:width] {
			a, b = a[width:], b[width:]
			continue
		}
		return strings.Compare(a, b)
	}
	return len(a) - len(b)
}

// digits returns how many digits a text starts with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

func (n *names) id(id [16]byte) any {
	if id == ([16]byte{}) {
		return "<zero>"
	}
	if n.ids[id] == "" {
		n.ids[id] = fmt.Sprintf("<id-%d>", len(n.ids)+1)
	}
	return n.ids[id]
}

func (n *names) stringField(s, owner, field string) any {
	switch field {
	case "Host":
		return "<host>"
	case "ClientHost":
		return "<client-host>"
	case "MemberID", "LeaderID":
		if shown := n.text(s); shown != s || s == "" {
			return shown
		}
		n.members++
		n.register(s, fmt.Sprintf("<member-%d>", n.members))
	case "ResourceName":
		for i, b := range n.cluster.brokers {
			if s == strconv.Itoa(int(b.id)) {
				return fmt.Sprintf("<broker-%d>", i+1)
			}
		}
	case "LogDir", "Dir":
		return "<dir>"
	}
	return n.text(s)
}

func (n *names) integer(i int64, owner, field string) any {
	if placeholder, hidden := n.numbers[fieldNumber{field, i}]; hidden {
		return placeholder
	}
	switch field {
	case "NodeID", "BrokerID", "Leader", "LeaderID", "Replicas", "ISR", "OfflineReplicas",
		"AddingReplicas", "RemovingReplicas", "EligibleLeaderReplicas", "LastKnownELR", "ReplicaID",
		"ControllerID", "Brokers", "TargetReplicas":
		return n.broker(i, owner, field)
	case "Port":
		if i > 0 {
			return "<port>"
		}
	case "ProducerID", "PreviousProducerID":
		n.registerProducer(i)
		if i >= 0 {
			return n.producers[i]
		}
	case "SessionID":
		if i != 0 {
			return "<session>"
		}
	case "FinalizedFeaturesEpoch", "BrokerEpoch":
		return "<epoch>"
	case "CoordinatorEpoch":
		if i >= 0 {
			return "<epoch>"
		}
	}
	if i >= timestampMin && i < 10*timestampMin {
		return n.time(i)
	}
	return i
}

func (n *names) time(ms int64) string {
	switch since := ms - n.cluster.now; {
	case since == 0:
		return "T"
	case since > 0 && since < timestampSpan:
		return fmt.Sprintf("T+%d", since)
	default:
		return "<time>"
	}
}

func (n *names) broker(id int64, owner, field string) any {
	if id < 0 {
		return id
	}
	index := n.cluster.index(int32(id))
	if index < 0 {
		return id
	}
	if n.anyBroker || field == "ControllerID" || strings.HasPrefix(owner, "FindCoordinator") {
		return "<broker>"
	}
	return fmt.Sprintf("<broker-%d>", index+1)
}

func (n *names) bytes(b []byte) any {
	if b == nil {
		return nil
	}
	if utf8.Valid(b) && !strings.ContainsFunc(string(b), unicode.IsControl) {
		return n.text(string(b))
	}
	return "hex:" + hex.EncodeToString(b)
}
