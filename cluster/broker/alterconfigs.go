package broker

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/metadata"
	"highwater/cluster/world"
)

// AlterConfigs, versions 0 to 2, and IncrementalAlterConfigs, versions 0 and 1: what only the
// broker can judge is refused here (Kafka's ConfigAdminManager), the rest is forwarded to the
// controller, and the answer puts both together in the order of the request. Skipped: loggers of a
// broker, of which there are none to alter.

// alteration is one resource of either request.
type alteration struct {
	kind kmsg.ConfigResourceType
	name string
	keys []alteredKey
}

type alteredKey struct {
	name   string
	value  *string
	delete bool
}

// refusal is what a broker answers instead of forwarding.
type refusal struct {
	code    int16
	message string
}

func refuseAlteration(format string, args ...any) *refusal {
	return &refusal{kerr.InvalidRequest.Code, fmt.Sprintf(format, args...)}
}

// refuseAlterations judges each resource; nil means that the controller is to decide.
func (b *Broker) refuseAlterations(all []alteration) []*refusal {
	type resource struct {
		kind kmsg.ConfigResourceType
		name string
	}
	times := map[resource]int{}
	for i := range all {
		times[resource{all[i].kind, all[i].name}]++
	}
	verdicts := make([]*refusal, len(all))
	for i := range all {
		if times[resource{all[i].kind, all[i].name}] > 1 {
			verdicts[i] = refuseAlteration("Each resource must appear at most once.")
			continue
		}
		verdicts[i] = b.refuseAlteration(&all[i])
	}
	return verdicts
}

func (b *Broker) refuseAlteration(a *alteration) *refusal {
	for _, k := range a.keys {
		if k.value == nil && !k.delete {
			return refuseAlteration("Null value not supported for : %s", k.name)
		}
	}
	if a.kind != kmsg.ConfigResourceTypeBroker {
		return nil
	}
	if a.name != "" {
		id, err := strconv.ParseInt(a.name, 10, 32)
		if err != nil {
			return refuseAlteration("Node id must be an integer, but it is: %s", a.name)
		}
		if int32(id) != int32(b.env.ID()) {
			return refuseAlteration("Unexpected broker id, expected %d, but received %s",
				b.env.ID(), a.name)
		}
	}
	for _, k := range a.keys {
		d, known := metadata.BrokerConfig(k.name)
		if !known {
			continue
		}
		if !d.Has(metadata.Dynamic) {
			return refuseAlteration("Cannot update these configs dynamically: [%s]", k.name)
		}
		if k.delete {
			continue
		}
		if err := d.Validate(*k.value); err != nil {
			return refuseAlteration("%s", err.Error())
		}
	}
	return nil
}

func (b *Broker) alterConfigs(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.AlterConfigsRequest)
	all := make([]alteration, 0, len(body.Resources))
	for i := range body.Resources {
		a := alteration{kind: body.Resources[i].ResourceType, name: body.Resources[i].ResourceName}
		for _, c := range body.Resources[i].Configs {
			a.keys = append(a.keys, alteredKey{name: c.Name, value: c.Value})
		}
		all = append(all, a)
	}
	verdicts := b.refuseAlterations(all)
	rest := *body
	rest.Resources = nil
	for i := range body.Resources {
		if verdicts[i] == nil {
			rest.Resources = append(rest.Resources, body.Resources[i])
		}
	}
	b.forwardRest(call, r, &rest, len(rest.Resources), func(decided kmsg.Response) kmsg.Response {
		response := kmsg.NewPtrAlterConfigsResponse()
		given, _ := decided.(*kmsg.AlterConfigsResponse)
		if given == nil {
			given = response
		}
		response.Resources = mergeAlterations(verdicts, given.Resources,
			func(i int, code int16, message *string) kmsg.AlterConfigsResponseResource {
				t := kmsg.NewAlterConfigsResponseResource()
				t.ResourceType, t.ResourceName = all[i].kind, all[i].name
				t.ErrorCode, t.ErrorMessage = code, message
				return t
			})
		return response
	})
}

func (b *Broker) incrementalAlterConfigs(call *world.Call, r *Request) {
	body := r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	all := make([]alteration, 0, len(body.Resources))
	for i := range body.Resources {
		a := alteration{kind: body.Resources[i].ResourceType, name: body.Resources[i].ResourceName}
		for _, c := range body.Resources[i].Configs {
			a.keys = append(a.keys, alteredKey{name: c.Name, value: c.Value,
				delete: c.Op == kmsg.IncrementalAlterConfigOpDelete})
		}
		all = append(all, a)
	}
	verdicts := b.refuseAlterations(all)
	rest := *body
	rest.Resources = nil
	for i := range body.Resources {
		if verdicts[i] == nil {
			rest.Resources = append(rest.Resources, body.Resources[i])
		}
	}
	b.forwardRest(call, r, &rest, len(rest.Resources), func(decided kmsg.Response) kmsg.Response {
		response := kmsg.NewPtrIncrementalAlterConfigsResponse()
		given, _ := decided.(*kmsg.IncrementalAlterConfigsResponse)
		if given == nil {
			given = response
		}
		response.Resources = mergeAlterations(verdicts, given.Resources,
			func(i int, code int16, message *string) kmsg.IncrementalAlterConfigsResponseResource {
				t := kmsg.NewIncrementalAlterConfigsResponseResource()
				t.ResourceType, t.ResourceName = all[i].kind, all[i].name
				t.ErrorCode, t.ErrorMessage = code, message
				return t
			})
		return response
	})
}

// mergeAlterations puts refusals and what the controller decided together, in the request's order.
// What the controller did not answer has timed out.
func mergeAlterations[R any](verdicts []*refusal, given []R,
	refused func(i int, code int16, message *string) R) []R {
	merged := make([]R, 0, len(verdicts))
	for i, v := range verdicts {
		switch {
		case v != nil:
			merged = append(merged, refused(i, v.code, &v.message))
		case len(given) == 0:
			merged = append(merged, refused(i, kerr.RequestTimedOut.Code, nil))
		default:
			merged = append(merged, given[0])
			given = given[1:]
		}
	}
	return merged
}

// forwardRest sends what was not refused to the controller, unless that is nothing, and answers
// with both; merge gets nil when no controller answered.
func (b *Broker) forwardRest(call *world.Call, r *Request, rest kmsg.Request, left int,
	merge func(decided kmsg.Response) kmsg.Response) {
	finish := func(decided kmsg.Response) {
		response := merge(decided)
		response.SetVersion(r.Version)
		b.answer(call, response, answered{})
	}
	if left == 0 {
		finish(nil)
		return
	}
	rest.SetVersion(r.Version)
	b.controller.call(kmsg.NameForKey(r.Key), rest, forwardTimeout, func(body any, err error) {
		decided, ok := body.(kmsg.Response)
		if err != nil || !ok {
			decided = nil
		}
		finish(decided)
	})
}
