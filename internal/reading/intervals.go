package reading

import "github.com/compactsim/compactsim/traces"

// Moments are when a call happened, unix ns; 0 for what is not known.
type Moments struct {
	Input       int64 // last line of its input
	First, Last int64 // first and last line of its response
	Before      int64 // end of the response before it, or the thread's start
	Compaction  int64 // ns of waiting for compactions in between
}

// Intervals sets how long a round waited and streamed.
func Intervals(out *traces.Round, m Moments) {
	if m.First == 0 {
		out.Flags |= traces.RoundNoTime
		return
	}
	request := m.Input
	if request == 0 {
		request = m.Before // nothing new was said: a retry or continuation
	}
	if request == 0 {
		out.Flags |= traces.RoundNoTime
		request = m.First
	}
	if m.Before != 0 {
		out.Wait = max(0, request-m.Before-m.Compaction)
	}
	out.First = max(0, m.First-request)
	out.Stream = max(out.First, m.Last-request)
}
