package main

import (
	"fmt"
	"io"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/reports"
	"github.com/compactsim/compactsim/sim/fleet"
	"github.com/compactsim/compactsim/sim/results"
)

// Files of the folder of a fleet, beside report and charts.
const (
	fleetFile      = "fleet.json" // all figures
	fleetYAMLFile  = "fleet.yaml" // the resolved fleet
	fleetOrgsFile  = "orgs.csv"   // a row for each strategy and organisation
	fleetHoursFile = "hours.csv"  // a row for each hour, with and without what is compared
)

// fleetFolder is where a fleet goes.
type fleetFolder struct{ outFolder }

// newFleetFolder refuses a folder that is in use, one with files in it, unless
// force is set.
func newFleetFolder(dir string, force bool, file *fleet.File) (*fleetFolder, error) {
	resolved, err := yaml.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("writing the resolved fleet: %w", err)
	}
	o := &fleetFolder{outFolder{dir: filepath.Clean(dir), resolved: resolved}}
	return o, o.claim(force, "fleet", func(dir string) bool { return isThere(filepath.Join(dir, fleetFile)) })
}

// fleetFiles are the files of a fleet in its folder.
func fleetFiles(resolved []byte, f *results.Fleet) []outFile {
	files := []outFile{
		{fleetFile, func(w io.Writer) error { return reports.Fleet(w, "json", f) }},
		{fleetYAMLFile, func(w io.Writer) error { _, err := w.Write(resolved); return err }},
		{reportFile, func(w io.Writer) error { return reports.Fleet(w, "table", f) }},
		{fleetOrgsFile, func(w io.Writer) error { return reports.Fleet(w, "csv", f) }},
		{fleetHoursFile, func(w io.Writer) error { return reports.FleetHoursCSV(w, f) }},
	}
	for _, d := range reports.FleetDrawings(f) {
		for _, format := range reports.ChartFormats() {
			files = append(files, outFile{
				filepath.Join(chartFolder, d.Name+"."+format), func(w io.Writer) error { return d.Draw(w, format) },
			})
		}
	}
	return files
}
