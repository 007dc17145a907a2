package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/loop"
)

// flagKeys are the keys that flags of a command set, by the name of the flag.
var flagKeys = map[string]string{
	"seed": "seed", "window": "client.window", "profile": "profile", "server": "server.name", "verify": "verify", "bound": "bound",
	"prices": "prices.file", "prices-at": "prices.at",
	"since": "sessions.since", "until": "sessions.until", "project": "sessions.project", "model": "sessions.model", "agent": "sessions.agent",
	"provider": "live.provider", "live-model": "live.model", "budget-usd": "live.budget_usd",
}

// FlagValue is the value of a flag as pflag has it. One that is a list has a method GetSlice too.
type FlagValue interface {
	String() string
	Type() string
}

// Flag applies a flag that a command was given. Flags that set no key of scenarios change nothing.
func (f *File) Flag(name string, value FlagValue) error {
	var given []string
	if list, ok := value.(interface{ GetSlice() []string }); ok {
		given = list.GetSlice()
	}
	origin := "--" + name
	switch name {
	case "strategy":
		if len(given) == 0 {
			return errors.New("--strategy names none")
		}
		return f.Choose(origin, given)
	case "price-as":
		var errs []error
		for i, alias := range given {
			if slices.Contains(given[:i], alias) {
				continue // reported already
			}
			from, to, err := costmodel.ParseAlias(alias)
			if err == nil {
				err = f.Set(origin, to, "prices", "as", from)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	case "open-loop":
		if value.String() != "true" {
			return nil
		}
		return f.Set(origin, loop.RefetchNever.Names()[loop.RefetchNever], "agent", "refetch")
	}
	key, ok := flagKeys[name]
	if !ok {
		return nil
	}
	var set any = value.String()
	switch {
	case given != nil:
		set = given
	case value.Type() != "string": // a number or a truth value
		if err := yaml.Unmarshal([]byte(value.String()), &set); err != nil {
			return fmt.Errorf("%s: %w", origin, err)
		}
	}
	return f.Set(origin, set, strings.Split(key, ".")...)
}
