package export

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// What of a text may leave the machine as it is. Each of these looks at the
// form of a text alone: what does not have the form of something harmless is
// taken for a person's words or paths.
var (
	// A strategy with its variant, a layer, the path of a parameter. No blank,
	// no second slash, no leading dot, slash, tilde or drive.
	nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.+-]{0,63}(/[A-Za-z0-9_.+-]{1,32})?$`)
	// A model as providers write it, with the marker of a large window. A resource
	// name of a cloud, which holds an account, has more colons.
	modelForm = regexp.MustCompile(`^<?[A-Za-z][A-Za-z0-9.-]{0,63}(/[A-Za-z0-9.-]{1,64})?(:\d+)?(@\d{8})?(\[1m\])?>?$`)
	// A number with a unit, or several of them as in 1h30m.
	numberForm = regexp.MustCompile(`^[-+]?(\d+(\.\d+)?(e[-+]?\d+)?(%|ns|us|µs|ms|s|m|h|d|k|K|M)?)+$`)
	// A version of this program: released, built from a checkout, or a commit.
	versionForm = regexp.MustCompile(`^(\(?devel\)?|v\d+\.\d+\.\d+(-[0-9A-Za-z.-]{1,40})?(\+[a-z]{1,12})?|[0-9a-f]{7,40}(-dirty)?)$`)
	datesForm   = regexp.MustCompile(`^\d+ dates$`)
)

func isName(s string) bool    { return nameForm.MatchString(s) && !strings.Contains(s, "..") }
func isModel(s string) bool   { return modelForm.MatchString(s) }
func isVersion(s string) bool { return versionForm.MatchString(s) }

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isSetting reports whether s is a value that anybody could have set.
func isSetting(s string) bool {
	return numberForm.MatchString(s) || isDate(s) ||
		slices.Contains([]string{"true", "false", "on", "off", "none", "null", "auto", "default", "call", "today"}, s)
}

// isPricesAt reports whether s says when prices are of in one of the ways a run
// does.
func isPricesAt(s string) bool { return s == "call date" || isDate(s) || datesForm.MatchString(s) }
