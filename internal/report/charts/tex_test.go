package reports

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TeX takes every kind of chart, and names of cells that are full of its commands. The test is skipped without pdflatex.
func TestTeX(t *testing.T) {
	latex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("no pdflatex on this machine")
	}
	hostile := bill()
	hostile.Cells[4].Cell = `50% of $5 & {x_y} \ − #1 ^~<>| ≥≤·±→× “q” … ä`
	list := append(Charts(lineSweep(), twoCells(40)), Chart(hostile), sweepDrawings(mapSweep())[0])
	dir, made := t.TempDir(), 0
	const page = "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n\\usepackage{helvet,pgf}\n\\begin{document}\n\\input{chart}\n\\end{document}\n"
	if err := os.WriteFile(filepath.Join(dir, "page.tex"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		file, err := os.Create(filepath.Join(dir, "chart.tex"))
		if err != nil {
			t.Fatal(err)
		}
		drawn := onPaper(d, ColumnWidth).Draw(file, "tex")
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if drawn != nil { // these runs have no such chart
			continue
		}
		cmd := exec.CommandContext(t.Context(), latex, "-interaction=nonstopmode", "-halt-on-error", "page.tex")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", d.Name, err, out[max(0, len(out)-800):])
		}
		made++
	}
	if made < 7 {
		t.Errorf("%d charts were compiled", made)
	}
}
