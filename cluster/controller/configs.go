package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/event"
	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

func configRecord(resourceType int8, resource, name string, value *string) *metadata.ConfigRecord {
	r := &metadata.ConfigRecord{ResourceType: resourceType, ResourceName: resource, Name: name}
	if value != nil {
		copied := *value
		r.Value = &copied
	}
	return r
}

// configOp is one change of one value.
type configOp struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

// incrementalAlterConfigs sets, removes, appends to and subtracts from single values.
func (a *active) incrementalAlterConfigs(call *world.Call,
	req *kmsg.IncrementalAlterConfigsRequest) {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	ch := a.decide()
	for _, r := range req.Resources {
		var ops []configOp
		for _, c := range r.Configs {
			ops = append(ops, configOp{c.Name, c.Op, c.Value})
		}
		answer := kmsg.NewIncrementalAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		if e := a.alterResource(ch, int8(r.ResourceType), r.ResourceName, ops); e != nil {
			answer.ErrorCode, answer.ErrorMessage = e.code, e.text()
		}
		resp.Resources = append(resp.Resources, answer)
	}
	a.conclude(ch, call, resp, req.ValidateOnly)
}

// alterConfigs replaces all values of a resource: what is not named goes back to its default.
func (a *active) alterConfigs(call *world.Call, req *kmsg.AlterConfigsRequest) {
	resp := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	ch := a.decide()
	for _, r := range req.Resources {
		var ops []configOp
		for _, c := range r.Configs {
			ops = append(ops, configOp{c.Name, kmsg.IncrementalAlterConfigOpSet, c.Value})
		}
		for _, entry := range ch.image.Config(int8(r.ResourceType), r.ResourceName) {
			if !slices.ContainsFunc(ops, func(o configOp) bool { return o.name == entry.Name }) {
				ops = append(ops, configOp{entry.Name, kmsg.IncrementalAlterConfigOpDelete, nil})
			}
		}
		answer := kmsg.NewAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		if e := a.alterResource(ch, int8(r.ResourceType), r.ResourceName, ops); e != nil {
			answer.ErrorCode, answer.ErrorMessage = e.code, e.text()
		}
		resp.Resources = append(resp.Resources, answer)
	}
	a.conclude(ch, call, resp, req.ValidateOnly)
}

// alterResource decides all changes of one resource, or none of them.
func (a *active) alterResource(ch *changes, kind int8, name string, ops []configOp) *answerError {
	if e := checkResource(ch.image, kind, name); e != nil {
		return e
	}
	entries := slices.Clone(ch.image.Config(kind, name))
	var records []*metadata.ConfigRecord
	for i, op := range ops {
		if slices.ContainsFunc(ops[:i], func(o configOp) bool { return o.name == op.name }) {
			return refuse(kerr.InvalidRequest.Code, "Error due to duplicate config keys")
		}
		value, e := a.newValue(ch.image, kind, name, op)
		if e != nil {
			return e
		}
		if e := checkMinIsr(ch.image, kind, name, op.name, value); e != nil {
			return e
		}
		entries = withEntry(entries, op.name, value)
		if value != nil {
			normal := metadata.NormalConfig(kind, op.name, *value)
			value = &normal
		}
		before, set := ch.image.ConfigValue(kind, name, op.name)
		if value == nil && !set || value != nil && set && *value == before {
			continue
		}
		records = append(records, configRecord(kind, name, op.name, value))
	}
	if err := validateEntries(kind, entries); err != nil {
		return refuse(kerr.InvalidConfig.Code, err.Error())
	}
	for _, r := range records {
		ch.add(r, event.RuleNone)
		a.followUp(ch, r)
	}
	return nil
}

// checkMinIsr refuses what would have a broker acknowledge by another min.insync.replicas than the
// controllers keep eligible leader replicas by: one of those may then lack what was acknowledged
// (KIP-966; isDisallowedBrokerMinIsrTransition in ConfigurationControlManager). An unchanged value
// is refused too.
func checkMinIsr(image *metadata.Image, kind int8, resource, key string,
	value *string) *answerError {
	if key != configMinIsr || kind != metadata.ResourceBroker ||
		image.FeatureLevel(metadata.FeatureElr) == 0 {
		return nil
	}
	switch {
	case resource != "":
		return refuse(kerr.InvalidConfig.Code,
			"Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	case value == nil:
		return refuse(kerr.InvalidConfig.Code,
			"Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	}
	return nil
}

// checkResource refuses resources that do not exist or are not kept in the metadata log.
func checkResource(image *metadata.Image, kind int8, name string) *answerError {
	switch kind {
	case metadata.ResourceTopic:
		if err := metadata.ValidateTopicName(name); err != nil {
			return refuse(kerr.InvalidTopicException.Code, err.Error())
		}
		if image.TopicByName(name) == nil {
			return refuse(kerr.UnknownTopicOrPartition.Code,
				fmt.Sprintf("The topic '%s' does not exist.", name))
		}
	case metadata.ResourceBroker:
		if id, err := strconv.ParseInt(name, 10, 32); name != "" && (err != nil || id < 0) {
			return refuse(kerr.InvalidRequest.Code,
				fmt.Sprintf("Unable to parse broker name as a base 10 number: %s", name))
		}
	case metadata.ResourceGroup, metadata.ResourceClientMetrics:
		if name == "" {
			return refuse(kerr.InvalidRequest.Code, "Default group resources are not allowed.")
		}
	default:
		return refuse(kerr.InvalidRequest.Code, fmt.Sprintf("Unknown resource type %d", kind))
	}
	return nil
}

// newValue computes what a value becomes; nil means that it is no longer set.
func (a *active) newValue(image *metadata.Image, kind int8, name string, op configOp) (
	*string, *answerError) {
	switch op.op {
	case kmsg.IncrementalAlterConfigOpDelete:
		return nil, nil
	case kmsg.IncrementalAlterConfigOpSet:
		if op.value == nil {
			return nil, refuse(kerr.InvalidConfig.Code, "Null value not supported for : "+op.name)
		}
		return op.value, nil
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
	default:
		return nil, refuse(kerr.InvalidRequest.Code, fmt.Sprintf("Unknown operation type %d", op.op))
	}
	if !isList(kind, op.name) {
		return nil, refuse(kerr.InvalidConfig.Code, fmt.Sprintf("Can't %s to key %s because its type is "+
			"not LIST.", opName(op.op), op.name))
	}
	if op.value == nil {
		return nil, refuse(kerr.InvalidConfig.Code, "Null value not supported for : "+op.name)
	}
	text, set := image.ConfigValue(kind, name, op.name)
	if !set && kind == metadata.ResourceTopic {
		text, _ = a.c.cfg.Properties.configOf(image, name, op.name)
	}
	return combine(text, *op.value, op.op), nil
}

func opName(op kmsg.IncrementalAlterConfigOp) string {
	if op == kmsg.IncrementalAlterConfigOpAppend {
		return "APPEND"
	}
	return "SUBTRACT"
}

// combine adds the words of a list, or takes them out.
func combine(text, operand string, op kmsg.IncrementalAlterConfigOp) *string {
	var words []string
	if text != "" {
		words = strings.Split(text, ",")
	}
	for _, word := range strings.Split(operand, ",") {
		word = strings.TrimSpace(word)
		at := slices.Index(words, word)
		switch {
		case op == kmsg.IncrementalAlterConfigOpAppend && at < 0:
			words = append(words, word)
		case op == kmsg.IncrementalAlterConfigOpSubtract && at >= 0:
			words = slices.Delete(words, at, at+1)
		}
	}
	joined := strings.Join(words, ",")
	return &joined
}

func isList(kind int8, key string) bool {
	if kind == metadata.ResourceTopic {
		d, ok := metadata.TopicConfig(key)
		return ok && d.Type == metadata.List
	}
	d, ok := metadata.BrokerConfig(key)
	return kind == metadata.ResourceBroker && ok && d.Type == metadata.List
}

func withEntry(entries []metadata.ConfigEntry, name string, value *string) []metadata.ConfigEntry {
	entries = slices.DeleteFunc(entries, func(e metadata.ConfigEntry) bool { return e.Name == name })
	if value != nil {
		entries = append(entries, metadata.ConfigEntry{Name: name, Value: *value})
	}
	slices.SortFunc(entries, func(a, b metadata.ConfigEntry) int {
		return strings.Compare(a.Name, b.Name)
	})
	return entries
}

func validateEntries(kind int8, entries []metadata.ConfigEntry) error {
	switch kind {
	case metadata.ResourceTopic:
		return metadata.ValidateTopicConfigs(entries)
	case metadata.ResourceBroker:
		for _, e := range entries {
			if err := metadata.ValidateBrokerConfig(e.Name, e.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// followUp adds what a changed value entails: another minimum makes the eligible leader replicas
// meaningless (KIP-966), and unclean elections, once allowed, happen.
func (a *active) followUp(ch *changes, r *metadata.ConfigRecord) {
	topic := ""
	switch {
	case r.ResourceType == metadata.ResourceTopic:
		topic = r.ResourceName
	case r.ResourceType != metadata.ResourceBroker || r.ResourceName != "":
		return
	}
	switch r.Name {
	case configMinIsr:
		ch.add(&metadata.ClearElrRecord{TopicName: topic}, event.RuleNone)
	case configUnclean:
		a.electForLeaderless(ch, topic)
	}
}
