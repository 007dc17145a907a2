// Package backend sends requests in the vocabulary of package wire to models
// and brings their answers back: Anthropic speaks the Messages API, OpenAI the
// chat completions that many servers know. Around either stand, from the inside
// to the outside,
//
//	Gate     how much may be sent: at once, in a minute, in all, and for how much
//	Retry    sends again what failed for the moment
//	Breaker  stops when everything fails
//
// each a Backend itself:
//
//	Breaker{Backend: &Retry{Backend: gate}}
//
// With the gate inside, every attempt counts against the limits and every
// attempt's usage is booked, also that of a stream that broke off.
//
// An error that a server or the network is to blame for is a [wire.Failure].
// When the caller's context ends, the error is the context's, and wraps a
// Failure that tells what had been billed by then.
package backend

import (
	"context"

	"github.com/compactsim/compactsim/internal/live/wire"
)

// Backend makes calls. Its methods are safe for concurrent use.
type Backend interface {
	// Do sends one request and returns the complete answer. The error is a
	// *wire.Failure, the context's, or one of this package's Err…, wrapped.
	Do(ctx context.Context, r *wire.Request) (*wire.Reply, error)
}
