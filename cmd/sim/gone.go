package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// gone names what serves in place of a command, a flag or a value of a flag that earlier states of
// the program had. A key is a command path, with the flag or the value behind it; a flag's value
// that was the same for all commands stands alone. The table ends with the first release.
var gone = map[string]string{
	"sim scenarios run":        "docs/claims.md has every claim with its figures",
	"sim audit --reconcile":    "sim audit --format json lists every day by model",
	"sim run --html":           pageOf,
	"sim run --format html":    pageOf,
	"sim run --closed-loop":    closedLoop,
	"sim ablate --closed-loop": closedLoop,
	"sim tune --closed-loop":   closedLoop,
	"sim report --closed-loop": closedLoop,
	"sim devserver":            "any local server with the interface of OpenAI serves; docs/live.md shows three",
	"sim tune --sensitivity":   "sim run --set PATH=[VALUE, …] --chart FILE draws the effect of one parameter",
	"--format csv-raw":         "--format csv keeps spreadsheets from taking a text for a formula, --format json has texts unchanged",
	"sim validate --fidelity":  "sim calibrate fits what agents fetch again after compactions",
	"sim validate --chart-dir": "--chart FILE draws how often calls read what was left in the cache",
	"sim traces show":          "sim explain SESSION shows every call with --all, and all figures with --format csv",
	"sim chains":               "sim audit --compactions takes the same scenario, flags and paths",
	"sim traces compare":       "sim traces fit writes a profile of each set of sessions; diff the two",
	"sim merge":                "a sweep takes seconds on one machine, and sim-beam divides larger ones (docs/scale.md)",
	"sim run --resume":         "a run takes seconds: run it again; an interrupted one leaves its folder as it was",
	"sim run --shard":          "a sweep takes seconds on one machine, and sim-beam divides larger ones (docs/scale.md)",
	"sim fleet":                "users are a part of a scenario: sim run office simulates some, sim scenarios ls lists those that come with sim",
	"sim export":               "rows.jsonl of sim run --out, or sim run --format csv --per-session; sim run --anonymize for others to read",
}

// pageOf says what writes a page.
const pageOf = "sim report PATH -o FILE writes the page, also of a folder of sim run --out"

// closedLoop says what --closed-loop was.
const closedLoop = "the loop is closed unless --open-loop is given"

// removed returns the error of a command, flag or value that is gone, or nil where name, as gone
// has it behind the command's path, never was one.
func removed(cmd *cobra.Command, name string) error {
	if instead, ok := gone[cmd.CommandPath()+" "+name]; ok {
		return usageError{fmt.Errorf("%s %s is gone: %s", cmd.CommandPath(), name, instead)}
	}
	return nil
}
