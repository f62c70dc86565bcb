package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/world"
)

// SaslHandshake, versions 0 and 1, and SaslAuthenticate, versions 0 to 2: listeners without SASL
// know both and refuse both, which tells a client that it is configured for another listener.
// Skipped: SASL itself.

func (b *Broker) saslHandshake(call *world.Call, r *Request) {
	response := kmsg.NewPtrSASLHandshakeResponse()
	response.Version, response.ErrorCode = r.Version, kerr.IllegalSaslState.Code
	b.answer(call, response, answered{code: response.ErrorCode})
}

func (b *Broker) saslAuthenticate(call *world.Call, r *Request) {
	response := kmsg.NewPtrSASLAuthenticateResponse()
	message := "this listener does not use SASL"
	response.Version, response.ErrorCode = r.Version, kerr.IllegalSaslState.Code
	response.ErrorMessage, response.SASLAuthBytes = &message, []byte{}
	b.answer(call, response, answered{code: response.ErrorCode})
}
