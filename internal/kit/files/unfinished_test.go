package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed program left goes with the next write; what a program that runs, or one on another machine, is writing stays for a day.
func TestUnfinishedFilesGo(t *testing.T) {
	const nobody = 0x7ffffffe // above the highest number of a process
	name := func(machine string, pid int) string { return fmt.Sprintf("%s%s%08x%08x", temporary, machine, pid, 1) }
	elsewhere := "0000"
	if machine() == elsewhere {
		elsewhere = "0001"
	}
	for left, gone := range map[string]bool{
		name(machine(), nobody): true, name(machine(), os.Getpid()): false, name(elsewhere, nobody): false, temporary + "0000beef": false, temporary + "x": false,
	} {
		for _, when := range []time.Time{time.Now(), time.Now().Add(-2 * abandoned)} {
			dir := t.TempDir()
			file, folder := filepath.Join(dir, ".a"+left), filepath.Join(dir, left)
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(folder, 0o700), os.Chtimes(file, when, when), os.Chtimes(folder, when, when)); err != nil {
				t.Fatal(err)
			}
			some := func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }
			err := errors.Join(Write(t.Context(), filepath.Join(dir, "a"), some), WriteAll(t.Context(), dir, []Member{{Name: "b", Write: some}}, nil))
			if err != nil {
				t.Fatal(err)
			}
			gone := gone || time.Since(when) > time.Hour && left != temporary+"x"
			for _, path := range []string{file, folder} {
				if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) != gone {
					t.Errorf("%s of %v: gone is %v, want %v", filepath.Base(path), when, !gone, gone)
				}
			}
		}
	}
}
