package results

import "slices"

// withoutYounger makes the metrics unmeasured that the program which wrote the
// rows did not know: what it left out of them is not 0. Without a list of those
// it did know, that goes for metrics of which no row has a figure, as far as
// zeros are left out of rows and are no part of a sum that is there.
func (r *Run) withoutYounger(known []string) {
	for _, m := range Metrics() {
		if known != nil && slices.Contains(known, m.Name) || known == nil && (!m.omitted() || r.has(m)) {
			continue
		}
		for i := range r.Cells {
			if c := &r.Cells[i]; c.measures(m) {
				c.Unmeasured = append(c.Unmeasured, m.Name)
			}
		}
	}
}

// omitted reports whether a row without a figure of m is like one of a program
// that does not know m.
func (m Metric) omitted() bool {
	return m.Of == "added_latency_seconds" || m.Group != "" && m.Kind == KindSum
}

// has reports whether a row has a figure of m other than 0.
func (r *Run) has(m Metric) bool {
	for i := range r.Cells {
		rows := r.Cells[i].Rows
		for j := range rows {
			if v, ok := m.Value(&rows[j]); ok && v != 0 {
				return true
			}
		}
	}
	return false
}
