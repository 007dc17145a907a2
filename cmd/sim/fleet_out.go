package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/internal/fleet"
	"github.com/compactsim/compactsim/reports"
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
	resolved, err := yaml.Marshal(fleetFrom(file, dir))
	if err != nil {
		return nil, fmt.Errorf("writing the resolved fleet: %w", err)
	}
	o := &fleetFolder{outFolder{dir: filepath.Clean(dir), resolved: resolved}}
	return o, o.claim(force, "fleet", func(dir string) bool { return isThere(filepath.Join(dir, fleetFile)) })
}

// fleetFrom returns a fleet that names its files from a folder: what is written there
// means the same from wherever it is run.
func fleetFrom(f *fleet.File, dir string) *fleet.File {
	moved := *f
	moved.Prices.File = nameFrom(dir, f.Prices.File)
	moved.Orgs = slices.Clone(f.Orgs)
	for i := range moved.Orgs {
		o := &moved.Orgs[i]
		o.Arrivals.File = nameFrom(dir, o.Arrivals.File)
		profiles := map[string]float64{}
		for name, weight := range o.Sessions.Profiles {
			if isFilePath(name) || isYAML(name) {
				name = nameFrom(dir, name)
			}
			profiles[name] += weight
		}
		o.Sessions.Profiles = profiles
	}
	return &moved
}

// nameFrom returns the name, from a folder, of a file that is named from the working
// folder. Absolute names stay.
func nameFrom(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	from, err := filepath.Abs(dir)
	if err != nil {
		return name
	}
	to, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return filepath.ToSlash(to) // another drive
	}
	return filepath.ToSlash(rel)
}

// isFilePath reports whether a name leads through folders.
func isFilePath(name string) bool { return strings.ContainsAny(name, `/\\`) }

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
