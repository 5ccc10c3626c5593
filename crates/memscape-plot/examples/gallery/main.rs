//! Draws every kind of chart with invented data: `gallery FOLDER`.

mod figures;

use std::error::Error;
use std::path::PathBuf;

use memscape_plot as plot;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name the folder to draw into")?);
    std::fs::create_dir_all(&folder)?;
    for (name, figure) in figures::all() {
        std::fs::write(folder.join(name).with_extension("svg"), figure.svg()?)?;
        std::fs::write(folder.join(name).with_extension("png"), figure.png()?)?;
        println!("{name}");
    }
    Ok(())
}
