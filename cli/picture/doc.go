// Package picture draws how engines load a fabric: a histogram of the load of
// links by engine and, for each engine, the fabric with links coloured by load,
// as SVG or PNG.
//
// A fabric is drawn by its form: switches in rows by rank where they are layered
// as a tree, in a grid where dimensions are given, else on a circle. Switches that
// would lie too close to each other are drawn as one dot; a line between two dots
// has the colour of the most loaded of the links that it stands for. So a picture
// has some thousands of lines at most, however large the fabric is.
package picture
