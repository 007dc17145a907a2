package audit

import "github.com/compactsim/compactsim/sim/results"

// Unread is what was written to the cache and never read, by where it stood.
// Other conversations may have read the tools and the system prompt of it; no
// log says so.
type Unread struct {
	Where  string  `json:"where"` // UnreadLast, UnreadAgain or UnreadOnly
	Calls  int     `json:"calls"`
	Tokens int64   `json:"tokens"`
	USD    float64 `json:"cost_usd"` // beyond the price of plain input
}

// Where tokens stood that were written and not read.
const (
	UnreadOnly  = "only call" // of a thread with one call
	UnreadLast  = "last call" // of its thread
	UnreadAgain = "written again"
)

type unread struct{ by map[string]*Unread }

// add takes a call, the one after it on its thread (nil for the last), and what
// the branches that leave it read at most.
func (u *unread) add(c, next *call, branches int64) (tokens int64, usd float64) {
	writes := c.r().Usage.Writes()
	if writes == 0 || c.automatic() {
		return 0, 0
	}
	read := branches
	if next != nil {
		read = max(read, next.r().Usage.Read)
	}
	came := min(writes, max(0, read-c.r().Usage.Read)) // of what was written, read by someone
	tokens = writes - came
	if tokens == 0 {
		return 0, 0
	}
	usd = float64(tokens) * max(0, c.writePrice()-c.price[results.ClassUncached])
	where := UnreadAgain
	switch {
	case next == nil && c.first():
		where = UnreadOnly
	case next == nil:
		where = UnreadLast
	}
	if u.by == nil {
		u.by = map[string]*Unread{}
	}
	if u.by[where] == nil {
		u.by[where] = &Unread{Where: where}
	}
	one := u.by[where]
	one.Calls++
	one.Tokens += tokens
	one.USD += usd
	return tokens, usd
}

func (u *unread) report(r *Report) {
	for _, one := range u.by {
		r.Unread = append(r.Unread, *one)
	}
	sortBy(r.Unread, func(a *Unread) float64 { return a.USD }, func(a *Unread) string { return a.Where })
}
