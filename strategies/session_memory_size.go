package strategies

import (
	"errors"
	"fmt"
)

// MemoryFile says how large the memory is. The documents give its limits; how it
// grows is assumed: with what it has summarised, the sections keeping their
// shares, one of them (the worklog) larger than the others, which are equal.
type MemoryFile struct {
	Template int32   `yaml:"template" doc:"tokens of the headers and descriptions of an empty memory"`
	Sections int     `yaml:"sections" doc:"sections of the memory"`
	Section  int64   `yaml:"section" doc:"tokens a section is kept to, and cut to when the memory takes the place of messages"`
	Total    int64   `yaml:"total" doc:"tokens the memory is kept to"`
	Share    float64 `yaml:"share" doc:"tokens it grows by for each token of the messages it summarises, 0…1; assumed"`
	Largest  float64 `yaml:"largest" doc:"share of it that the largest section has, 0…1; assumed"`
	Condense bool    `yaml:"condense" doc:"updates keep to the limits when they are reminded; off, the memory grows on"`
	Reminder int32   `yaml:"reminder" doc:"tokens of the reminder for each limit that is reached; assumed"`
	Marker   int32   `yaml:"marker" doc:"tokens that stand for what was cut off a section; assumed"`
}

// Validate returns what is wrong with the sizes.
func (m *MemoryFile) Validate() []error {
	var errs []error
	if m.Sections < 1 {
		errs = append(errs, errors.New("memory.sections 0 must be positive"))
	}
	if m.Section > m.Total {
		errs = append(errs, fmt.Errorf("memory: section %d is more than total %d", m.Section, m.Total))
	}
	if !(m.Share >= 0 && m.Share <= 1) {
		errs = append(errs, fmt.Errorf("memory.share %g must lie in 0…1", m.Share))
	}
	if !(m.Largest > 0 && m.Largest <= 1) {
		errs = append(errs, fmt.Errorf("memory.largest %g must lie between 0 and 1", m.Largest))
	}
	return errs
}

// sizes returns the tokens that are written into the largest section and into
// each other one when so many tokens have been summarised.
func (m *MemoryFile) sizes(summarised int64) (largest, other int64) {
	text := m.Share * float64(summarised)
	if m.Sections == 1 {
		return int64(text), 0
	}
	return int64(m.Largest * text), int64((1 - m.Largest) * text / float64(m.Sections-1))
}

// tokens returns the size of the file.
func (m *MemoryFile) tokens(summarised int64) int64 {
	largest, other := m.sizes(summarised)
	if !m.Condense {
		return int64(m.Template) + largest + other*int64(m.Sections-1)
	}
	n := min(largest, m.Section) + min(other, m.Section)*int64(m.Sections-1)
	return int64(m.Template) + min(n, m.Total)
}

// reminders returns the tokens of the reminders that an update begins with: one
// for each section at its limit, one for the memory at its own.
func (m *MemoryFile) reminders(summarised int64) int64 {
	largest, other := m.sizes(summarised)
	n := 0
	if largest >= m.Section {
		n++
	}
	if other >= m.Section {
		n += m.Sections - 1
	}
	if m.tokens(summarised)-int64(m.Template) >= m.Total {
		n++
	}
	return int64(n) * int64(m.Reminder)
}

// summary returns the tokens of the memory in the place of messages: each
// section cut to its limit, with a marker where something was cut off.
// Condensed sections never are.
func (m *MemoryFile) summary(summarised int64) int64 {
	if m.Condense {
		return m.tokens(summarised)
	}
	largest, other := m.sizes(summarised)
	return int64(m.Template) + m.cut(largest) + m.cut(other)*int64(m.Sections-1)
}

func (m *MemoryFile) cut(section int64) int64 {
	if section <= m.Section {
		return section
	}
	return m.Section + int64(m.Marker)
}
