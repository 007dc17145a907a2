package charts

import (
	"bytes"
	"fmt"
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
	page := "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage[T1]{fontenc}\n\\usepackage{helvet,pgf}\n\\begin{document}\n"
	for i, d := range list {
		name := fmt.Sprintf("chart%d.tex", i)
		var b bytes.Buffer
		if err := onPaper(d, ColumnWidth).Draw(&b, "tex"); err != nil { // these runs have no such chart
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		page += "\\input{" + name + "}\n\n"
		made++
	}
	if err := os.WriteFile(filepath.Join(dir, "page.tex"), []byte(page+"\\end{document}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), latex, "-interaction=nonstopmode", "-halt-on-error", "page.tex")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-800):])
	}
	if made < 7 {
		t.Errorf("%d charts", made)
	}
}
