package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/sm/opensm"
)

// confFile is an opensm.conf that was read.
type confFile struct {
	name   string
	config opensm.Config
	report opensm.Report
}

// readConf reads an opensm.conf. Values that cannot be are an error with their
// lines.
func readConf(name string) (*confFile, error) {
	r, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c := &confFile{name: name}
	if c.config, c.report, err = opensm.ReadConfig(r, name); err != nil {
		return nil, err
	}
	if len(c.report.Faults) > 0 {
		texts := make([]string, len(c.report.Faults))
		for i, fault := range c.report.Faults {
			texts[i] = fault.Error()
		}
		return nil, errors.New(strings.Join(texts, "; "))
	}
	return c, nil
}

// confNotes are what is to be said of an opensm.conf, by line.
type confNotes map[int]string

func (n confNotes) lines() []string {
	var list []string
	for _, line := range slices.Sorted(maps.Keys(n)) {
		list = append(list, n[line])
	}
	return list
}

// set reports what the file says otherwise than OpenSM's defaults.
func (c *confFile) set(o *confOption) bool {
	standard := opensm.DefaultConfig()
	return c.report.Set[o.name] > 0 && o.value(&c.config) != o.value(&standard)
}

// apply takes over the options of the file for which no flag was given, and
// says what has no effect.
func (c *confFile) apply(given func(flag string) bool, f *smFlags) (confNotes, error) {
	notes := c.unread()
	options := confOptions()
	for i := range options {
		o := &options[i]
		if !c.set(o) || o.flag != "" && given(o.flag) {
			continue
		}
		line := c.report.Set[o.name]
		place := fmt.Sprintf("%s:%d: %s %v", c.name, line, o.name, o.value(&c.config))
		note := "has no effect"
		if o.take != nil {
			var err error
			if note, err = o.take(&c.config, f); err != nil {
				return nil, fmt.Errorf("%s: %w", place, err)
			}
		} else if o.advice != "" {
			note += ": " + o.advice
		}
		if note != "" {
			notes[line] = place + " " + note
		}
	}
	c.applyDefaults(given, f)
	return notes, nil
}

// unread notes the options that heddle does not read, each once.
func (c *confFile) unread() confNotes {
	notes, said := confNotes{}, map[string]bool{}
	for _, list := range [][]opensm.Fault{c.report.Unsupported, c.report.Unknown} {
		for _, fault := range list {
			if !said[fault.Text] {
				said[fault.Text] = true
				notes[fault.Line] = fault.Error()
			}
		}
	}
	return notes
}

// applyDefaults has the files be found where OpenSM looks for them.
func (c *confFile) applyDefaults(given func(flag string) bool, f *smFlags) {
	standard := opensm.DefaultConfig()
	if !given("partitions") && c.config.Partitions == standard.Partitions && exists(standard.Partitions) {
		f.parts = standard.Partitions
	}
	if given("guid2lid") {
		return
	}
	cache := os.Getenv("OSM_CACHE_DIR")
	if cache == "" && exists(opensm.CacheDir) {
		cache = opensm.CacheDir
	}
	if cache != "" {
		f.files.lids = filepath.Join(cache, opensm.LIDsFile)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// fixed lists the options that differ from those of an older file, and count
// from the next start on only.
func (c *confFile) fixed(old *confFile) (names []string) {
	options := confOptions()
	for i := range options {
		if o := &options[i]; o.fixed && o.value(&c.config) != o.value(&old.config) {
			names = append(names, o.name)
		}
	}
	return names
}
