package client

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/compactsim/compactsim/internal/nearest"
)

// versions are those of Claude Code from which on requests or counts are known to
// differ, see ForVersion.
func versions() []string { return []string{"1.0.62", "2.1.1", "2.1.5", "2.1.17", "2.1.30"} }

var dotted = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9}){0,2}$`)

// CheckVersion returns an error for what is no version: one to three numbers with
// dots between them. Versions that are newer than all known are some; "" is none
// and no error.
func CheckVersion(release string) error {
	if release == "" || dotted.MatchString(release) {
		return nil
	}
	return fmt.Errorf("%q is no version%s; want numbers such as %s, or \"\" for each session's own",
		release, nearest.Hint(release, versions()), strings.Join(versions(), ", "))
}

// numbers returns a version as recorded without what stands behind its numbers.
func numbers(release string) string {
	if i := strings.IndexAny(release, "-+ "); i > 0 {
		return release[:i]
	}
	return release
}
