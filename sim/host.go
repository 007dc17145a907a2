package sim

import (
	"github.com/compactsim/compactsim/internal/draws"
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results"
	"github.com/compactsim/compactsim/strategies"
)

// host serves the layers of the thread whose turn it is.
type host struct {
	loop   *Loop
	thread *thread
}

// Count adds to a count of the session's row.
func (h *host) Count(c results.Count, n int64) {
	if int(c) < results.NumCounts {
		h.thread.live.row.Counts[c] += n
	}
}

// Refuse counts a reason for which a layer did not act.
func (h *host) Refuse(layer, reason string) { h.thread.live.refuse(layer, reason) }

func (s *live) refuse(layer, reason string) {
	if s.reasons == nil {
		s.reasons = map[[2]string]int{}
	}
	s.reasons[[2]string{layer, reason}]++
}

// Section gives a section of the thread's head another content.
func (h *host) Section(s strategies.Section, tokens int32, content prompt.Digest) {
	h.loop.setSection(h.thread, s, tokens, content)
}

// Post puts a message into the input of another thread's next round. One to a
// thread that is not there is lost.
func (h *host) Post(thread, tokens int32) {
	s := h.thread.live
	if thread >= 0 && int(thread) < len(s.session.Threads) && tokens > 0 {
		to := &h.loop.threads[s.base+thread]
		to.inbox = append(to.inbox, tokens)
	}
}

// Draw returns the draw of a layer at the round under way.
func (h *host) Draw(layer string, ordinal uint8) float64 {
	t := h.thread
	event := draws.Event(t.index, t.round, layerKey(layer), ordinal)
	return draws.Unit(t.live.draws.Uint64(draws.Layer, event))
}

// layerKey identifies a layer in draws: by its name, so that adding or removing
// another shifts nothing.
func layerKey(name string) uint8 { return uint8(prompt.DigestString(name).Lo) | 1 }

// open delivers the messages that other threads have posted.
func (l *Loop) open(t *thread) {
	for _, tokens := range t.inbox {
		b := injected(prompt.KindAttachment, "message", tokens)
		b.Digest = b.Digest.ExtendInt(uint64(t.index)<<32 | uint64(t.round))
		t.context.Add(b)
		t.trailing += t.live.count.Block(&b)
		t.live.row.Counts[results.CountMessages]++
	}
	t.inbox = t.inbox[:0]
}
