package fleet

import (
	"fmt"

	"github.com/compactsim/compactsim/traces/synthetic"
)

// A fleet is held in memory whole. What it takes is 780 bytes a call with
// auto-compact/167k, of the fleet ten-thousand (1.4 GB for 1.8 million calls).
const (
	bytesPerCall = 800
	maxCalls     = 100_000_000 // expected of the whole fleet, 80 GB
	// maxSessionCalls is the most that profiles allow for a session.
	maxSessionCalls = 1_000_000
)

// Of each profile so many sessions tell the calls of all, or fewer of long ones.
const (
	sampledSessions = 16
	sampledCalls    = 5000
)

// Calls returns how many calls all sessions of the fleet are expected to make: the mean of
// some of each profile, by how many begin.
func (f *File) Calls() (float64, error) {
	list, err := f.callsByOrg()
	sum := 0.0
	for _, n := range list {
		sum += n
	}
	return sum, err
}

// Memory returns roughly what so many calls take while they are simulated, bytes.
func Memory(calls float64) float64 { return calls * bytesPerCall }

// callsByOrg returns the expected calls of each organisation.
func (f *File) callsByOrg() ([]float64, error) {
	mixes, err := f.generators()
	if err != nil {
		return nil, err
	}
	list := make([]float64, len(f.Orgs))
	for i := range f.Orgs {
		m := &mixes[i]
		before, mean := 0.0, 0.0
		for k, from := range m.from {
			mean += (m.sum[k] - before) * from.calls()
			before = m.sum[k]
		}
		sessions := f.expected(&f.Orgs[i])
		if times := len(f.times[i]); times > 0 {
			sessions = float64(times)
		}
		list[i] = sessions * mean / before
	}
	return list, nil
}

// meanCalls returns the mean number of calls of sessions of a generator.
func meanCalls(g *synthetic.Generator, seed uint64) float64 {
	calls, n := 0, 0
	for ; n < sampledSessions && calls < sampledCalls; n++ {
		calls += g.Session(seed, n).NumCalls()
	}
	return float64(calls) / float64(n)
}

// checkSize refuses a fleet that no memory holds. Only one with nothing else wrong has a
// size.
func (f *File) checkSize() (bad flaws) {
	sessions := 0.0
	for i := range f.Orgs {
		sessions += f.expected(&f.Orgs[i]) + float64(len(f.times[i]))
	}
	if sessions*maxSessionCalls <= maxCalls {
		return nil // whatever they are, and without drawing any
	}
	list, err := f.callsByOrg()
	if err != nil {
		return nil // told by whoever draws the fleet
	}
	sum, most := 0.0, 0
	for i, n := range list {
		sum += n
		if n > list[most] {
			most = i
		}
	}
	if sum > maxCalls {
		o := &f.Orgs[most]
		bad.add(fmt.Sprintf("orgs[%d]", most), "users, rates, days and profiles come to about %.2g calls (%.2g of %s), some %.0f GB of memory: at most %.2g are possible: want fewer users, days or sessions.per_user_day",
			sum, list[most], o.Name, Memory(sum)/1e9, float64(maxCalls))
	}
	return bad
}
