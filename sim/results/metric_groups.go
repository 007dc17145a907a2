package results

// waitParts lists the parts of added_latency_seconds.
func waitParts() []Metric {
	definitions := [NumWaits]string{
		WaitCompaction: "waiting for the calls of compactions, seconds",
		WaitFirstToken: "later first tokens of the conversation against the recording, seconds; negative for earlier ones",
		WaitOther:      "waiting for other calls that block the conversation and for background calls, seconds",
	}
	var ms []Metric
	for w := range Wait(NumWaits) {
		ms = append(ms, Metric{Name: "added_latency_seconds_" + w.String(), Unit: UnitSeconds, Better: Lower,
			Definition: definitions[w], Of: "added_latency_seconds", By: ByPart,
			Value: figure(func(r *Row) float64 { return r.Waits[w] })})
	}
	return ms
}

// levelMetrics lists how full the client showed its window to be.
func levelMetrics() []Metric {
	ms := []Metric{
		ratio(Metric{Name: "percent_left", Better: Neither, Exact: true, Group: GroupLevels,
			Definition: "share of its limit that the client showed as left, mean over the calls of main conversations; no sample without calls"},
			func(r *Row) (int64, int64) { return r.Left.Sum, 100 * int64(r.Left.Calls) }),
		{Name: "percent_left_least", Unit: UnitRatio, Better: Higher, Exact: true, Group: GroupLevels, Kind: KindMinimum,
			Definition: "least share of its limit that the client showed as left at a call; over several sessions the minimum; no sample without calls",
			Value: func(r *Row) (float64, bool) {
				return float64(100-r.Left.Used) / 100, r.Left.Calls > 0
			}},
	}
	for l := LevelWarning; l < NumLevels; l++ {
		ms = append(ms, Metric{Name: l.String() + "_seconds", Unit: UnitSeconds, Better: Lower, Group: GroupLevels,
			Definition: "time that main conversations spent at the " + l.String() + " level and at none above it, pauses of the person included",
			Value:      figure(func(r *Row) float64 { return r.SecondsAt[l] })})
	}
	return ms
}

// countMetrics lists every Count. Those of live calls have no sample in a row
// without any.
func countMetrics() []Metric {
	var ms []Metric
	for i, c := range counts {
		live := c.group == GroupLive
		ms = append(ms, Metric{Name: c.name, Unit: c.unit, Better: c.better, Exact: true, Group: c.group,
			Definition: c.definition, Value: func(r *Row) (float64, bool) {
				return float64(r.Counts[i]), !live || r.Counts[CountLiveCalls] > 0
			}})
	}
	return ms
}
