package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/scenarios"
	"github.com/compactsim/compactsim/traces"
)

// dryRun tells how large a run would be.
func dryRun(cmd *cobra.Command, plan *scenarios.Plan, corpus *traces.Corpus) error {
	e, err := plan.Estimate(cmd.Context(), corpus)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	_, err = fmt.Fprintf(w, "%s × %s = %s to simulate, about %s\n",
		plural(e.Sessions, "session"), plural(e.Cells, "cell"), plural(e.Calls, "call"), roundTime(e.Time))
	if err != nil {
		return err
	}
	for _, line := range cellLines(plan.Design) {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// cellLines lists the strategies of a design with the values that are swept.
func cellLines(d *scenarios.Design) []string {
	var lines []string
	for i := 0; i < len(d.Cells); {
		name := d.Cells[i].Strategy.Name
		values := map[string][]string{}
		var keys []string
		n := 0
		for ; i < len(d.Cells) && d.Cells[i].Strategy.Name == name; i++ {
			n++
			for _, key := range d.Cells[i].ParamNames() {
				if _, ok := values[key]; !ok {
					keys = append(keys, key)
				}
				values[key] = addOnce(values[key], d.Cells[i].Params[key])
			}
		}
		line := fmt.Sprintf("  %s: %s", name, plural(n, "cell"))
		for _, key := range keys {
			line += fmt.Sprintf(", %s of %s", key, few(values[key]))
		}
		lines = append(lines, line)
	}
	return lines
}

func addOnce(list []string, s string) []string {
	for _, x := range list {
		if x == s {
			return list
		}
	}
	return append(list, s)
}

// few writes values, of many only the first two and the last.
func few(values []string) string {
	if len(values) > 6 {
		values = []string{values[0], values[1], "…", values[len(values)-1]}
	}
	return strings.Join(values, " ")
}

// roundTime rounds an estimate to what it is worth.
func roundTime(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
