package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DamagedError means that a file cannot be used, though it is there. Nothing of
// it was changed but its name.
type DamagedError struct {
	Path  string // where it was
	Aside string // where it is now; "" where it could not be moved
	Err   error  // what is wrong with it
}

// Error names the file, its new name and the damage.
func (e *DamagedError) Error() string {
	if e.Aside == "" {
		return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s is damaged, and now at %s: %v", e.Path, e.Aside, e.Err)
}

// Unwrap gives what is wrong.
func (e *DamagedError) Unwrap() error { return e.Err }

const asidePattern = "%s.damaged-%d"

// setAside moves a damaged file to the first name that is free.
func setAside(path string, cause error) *DamagedError {
	e := &DamagedError{Path: path, Err: cause}
	for n := 1; ; n++ {
		aside := fmt.Sprintf(asidePattern, path, n)
		_, err := os.Lstat(aside)
		if err == nil {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(path, aside)
		}
		if err != nil {
			e.Err = errors.Join(cause, err)
			return e
		}
		e.Aside = aside
		return e
	}
}

// SetAside lists the files that were found to be damaged and moved aside, so
// that a manager which begins anew can say so.
func SetAside(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if ok, err := filepath.Match(filepath.Base(path)+".damaged-*", e.Name()); ok && err == nil {
			names = append(names, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	return names, nil
}
