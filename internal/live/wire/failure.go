package wire

import (
	"fmt"
	"time"
)

// Cause says why a call gave no reply.
type Cause string

// The causes of failures.
const (
	CauseTooLong    Cause = "prompt too long"    // the server refuses the prompt
	CauseRate       Cause = "rate limited"       // 429
	CauseOverloaded Cause = "overloaded"         // 529
	CauseServer     Cause = "server error"       // 500 and its like
	CauseBroken     Cause = "broken stream"      // the connection ended before the response did: the server may have begun to work
	CauseNetwork    Cause = "network"            // the server could not be reached
	CauseTimeout    Cause = "timeout"            // no end of the response in time
	CauseAuth       Cause = "authentication"     // 401, 403: the key
	CauseModel      Cause = "unknown model"      // 404
	CauseRequest    Cause = "bad request"        // 400, other than too long
	CauseTooLarge   Cause = "response too large" // beyond the limit for a response
)

// Failure is a call without a reply. It holds nothing of the request's headers.
type Failure struct {
	Cause    Cause
	Status   int           // of HTTP, 0 for none
	Message  string        // of the server, cut to a few hundred bytes
	Excess   int64         // CauseTooLong: tokens above the limit; 0 when the server does not say
	After    time.Duration // how long the server asks to wait; 0 for no word
	Attempts int           // requests sent, the last one included
	// Billed is what the attempts were billed: what the server had counted before
	// a stream broke off, or an estimate where it may have begun and said nothing.
	Billed Usage
}

// Error names cause, status and the server's message.
func (f *Failure) Error() string {
	s := string(f.Cause)
	if f.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	if f.Message != "" {
		s += ": " + f.Message
	}
	return s
}

// Passing reports whether the same request may succeed later.
func (f *Failure) Passing() bool {
	switch f.Cause {
	case CauseRate, CauseOverloaded, CauseServer, CauseBroken, CauseNetwork, CauseTimeout:
		return true
	}
	return false
}

// Fatal reports whether every other call will fail in the same way: the caller
// should stop rather than go on.
func (f *Failure) Fatal() bool { return f.Cause == CauseAuth || f.Cause == CauseModel }
