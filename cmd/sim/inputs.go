package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/compactsim/compactsim/cmd/sim/internal/console"
	"github.com/compactsim/compactsim/cmd/sim/internal/outputs"
	"github.com/compactsim/compactsim/costmodel"
	"github.com/compactsim/compactsim/internal/kit/files"
	"github.com/compactsim/compactsim/reports/pseudonym"
	"github.com/compactsim/compactsim/sim/profile"
)

// priceFlags set the prices of models.
type priceFlags struct {
	file string
	as   []string
}

func (f *priceFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "prices", "", "`FILE` with prices that add to the built-in ones or replace them, also a list of LiteLLM or genai-prices")
	cmd.Flags().StringArrayVar(&f.as, "price-as", nil, "bill model A as model B, given as `A=B`; repeatable")
}

// table returns the prices that the flags select.
func (f *priceFlags) table() (*costmodel.Table, error) {
	table, err := priceTable(f.file, f.as)
	if err != nil {
		return nil, console.Misuse(err)
	}
	return table, nil
}

// priceTable returns the built-in prices with a file's merged in and aliases
// set.
func priceTable(file string, aliases []string) (*costmodel.Table, error) {
	table, err := costmodel.Default()
	if err != nil {
		return nil, err
	}
	if file != "" {
		over, err := loadPrices(file)
		if err != nil {
			return table, err
		}
		table = table.Merge(over)
	}
	as := map[string]string{}
	for _, a := range aliases {
		from, to, err := costmodel.ParseAlias(a)
		if err != nil {
			return table, err
		}
		as[from] = to
	}
	if len(as) == 0 {
		return table, nil
	}
	aliased, err := table.WithAliases(as)
	if err != nil {
		return table, err
	}
	return aliased, nil
}

func loadPrices(file string) (*costmodel.Table, error) {
	r, err := files.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	defer r.Close()
	table, err := costmodel.Load(r, file)
	if err != nil {
		return nil, err
	}
	info, err := r.Stat()
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	return table.Dated(info.ModTime()), nil
}

// loadProfile returns the profile of a name: "default", "none" or a file.
func loadProfile(name string) (*profile.Profile, error) {
	switch name {
	case "none":
		return nil, nil
	case "default":
		return profile.Default()
	}
	text, err := files.Read(name)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	return profile.Parse(text, name)
}

// anonymizeKeyVariable may hold the key of pseudonyms instead of a file.
const anonymizeKeyVariable = "SIM_ANONYMIZE_KEY"

// keyFlags select the key of pseudonyms.
type keyFlags struct {
	anonymize bool
	file      string
	create    string // file for a new key
}

// bind binds the flags of every verb with pseudonyms.
func (f *keyFlags) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.anonymize, "anonymize", false, "replace the names of sessions, projects and files with pseudonyms")
	cmd.Flags().StringVar(&f.file, "anonymize-key", "", "`FILE` with the key for pseudonyms; without it the key is in the variable "+anonymizeKeyVariable)
}

// check returns what is wrong with the flags.
func (f *keyFlags) check() error {
	var errs []error
	if !f.anonymize && f.file+f.create != "" {
		errs = append(errs, errors.New("a key for pseudonyms needs --anonymize"))
	}
	if f.create != "" && outputs.IsThere(f.create) {
		errs = append(errs, fmt.Errorf("--new-anonymize-key %s: exists; --anonymize-key uses it", f.create))
	}
	return errors.Join(errs...)
}

// key returns the key of pseudonyms, nil without --anonymize. White space
// around it, such as the line end of a file, does not count.
func (f *keyFlags) key() ([]byte, error) {
	if err := f.check(); err != nil || !f.anonymize {
		return nil, err
	}
	if f.create != "" {
		return []byte(rand.Text()), nil // 130 bits
	}
	from, key := anonymizeKeyVariable, []byte(os.Getenv(anonymizeKeyVariable))
	if f.file != "" {
		var err error
		if key, err = files.Read(f.file); err != nil {
			return nil, fmt.Errorf("read the key for pseudonyms: %w", err)
		}
		from = f.file
	}
	key = bytes.TrimSpace(key)
	switch {
	case len(key) == 0 && f.file == "":
		return nil, fmt.Errorf("--anonymize needs a key: --anonymize-key FILE or %s; "+
			"sim check --new-anonymize-key FILE makes one", anonymizeKeyVariable)
	case len(key) < pseudonym.MinKey:
		return nil, fmt.Errorf("%s: a key for pseudonyms needs at least %d bytes; this one has %d", from, pseudonym.MinKey, len(key))
	}
	return key, nil
}

// saveKey writes a new key to a file that only its owner can read.
func saveKey(ctx context.Context, file string, key []byte) error {
	err := files.New(ctx, file, 0o600, func(w io.Writer) error { _, err := fmt.Fprintf(w, "%s\n", key); return err })
	if err != nil {
		return fmt.Errorf("write the key for pseudonyms: %w", err)
	}
	return nil
}
