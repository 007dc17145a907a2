package hidden

import "github.com/compactsim/compactsim/sim/prompt"

const (
	// leastSteps is how many different reads tell a step from chance: the common divisor of the differences of
	// four random numbers is above one in one case of seven.
	leastSteps = 4
	// leastStep is the least step that counts as one, tokens: below it a read ends at any token.
	leastStep = 16
)

// steps estimates where the reads of a thread end, where no known grid explains them: the step is the greatest common
// divisor of the differences of its reads.
type steps struct {
	n      int   // different reads in a row
	last   int64 // read, tokens
	step   int64 // 0 before the second read
	behind int64 // least distance of a read from the end of the request before, tokens
}

// see adds a read behind a request, tokens.
func (s *steps) see(read, input int64) {
	if read <= 0 || read == s.last {
		return
	}
	if s.n > 0 {
		s.step = divisor(s.step, max(read-s.last, s.last-read))
	}
	if behind := max(0, input-read); s.n == 0 || behind < s.behind {
		s.behind = behind
	}
	s.n, s.last = s.n+1, read
}

// grid returns the estimate, once there are enough reads for one.
func (s *steps) grid() (prompt.Serving, bool) {
	switch {
	case s.n < leastSteps:
		return prompt.Serving{}, false
	case s.step < leastStep:
		return prompt.Serving{Step: 1, Lag: int32(s.behind)}, true
	}
	return prompt.Serving{Step: int32(s.step), Offset: int32(s.last % s.step), Lag: int32(s.behind)}, true
}

// divisor returns the greatest common divisor of two numbers that are not negative.
func divisor(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
